"""Accepts a number whose difference from the answer does not exceed the argument."""

import sys
from pathlib import Path

answer, most = float(Path(sys.argv[2]).read_text()), float(sys.argv[4])
try:
    (said,) = map(float, sys.stdin.read().split())
except ValueError:
    sys.exit(43)
sys.exit(42 if abs(said - answer) <= most else 43)
