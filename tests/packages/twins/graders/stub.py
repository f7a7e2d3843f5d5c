import sys

import user1
import user2

number = int(input())
print(user1.encode(number) if sys.argv[1] == "0" else user2.decode(number), flush=True)
