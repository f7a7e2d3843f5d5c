import random
import sys

rows, seed = map(int, sys.argv[1:])
random.seed(seed)
print(rows)
print(*(random.randint(0, 1000) for _ in range(rows)))
