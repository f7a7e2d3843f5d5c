"""Accepts a difference from the answer up to the last argument; the first argument is the problem's."""

import sys
from pathlib import Path

answer = float(Path(sys.argv[2]).read_text())
word, tolerance = sys.argv[4:]
assert word == "within"
try:
    said = float(sys.stdin.read())
except ValueError:
    sys.exit(43)
sys.exit(42 if abs(said - answer) <= float(tolerance) else 43)
