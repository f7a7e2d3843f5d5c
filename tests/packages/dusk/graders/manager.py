"""dusk.py 0 PIPE in the evening, dusk.py 1 PIPE in the morning: a string is written, and read back."""

import sys
from pathlib import Path

import dusk

step, place = sys.argv[1:]
if step == "0":
    Path(place).write_text(dusk.evening(input()) + "\n")
else:
    print(dusk.morning(Path(place).read_text().rstrip("\n")))
