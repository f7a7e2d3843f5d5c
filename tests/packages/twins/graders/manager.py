"""Forward the first process's encoding of a number to the second, which must print the number."""

import sys
from pathlib import Path

from_first, to_first, from_second, to_second = sys.argv[1:5]
number = int(input())
with Path(to_first).open("w") as there, Path(from_first).open() as back:
    print(number, file=there, flush=True)
    word = int(back.readline())
with Path(to_second).open("w") as there, Path(from_second).open() as back:
    print(word, file=there, flush=True)
    said = int(back.readline())
print(1.0 if said == number and word != number else 0.0)
