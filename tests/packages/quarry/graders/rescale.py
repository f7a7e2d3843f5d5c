#!/usr/bin/env python3
"""rescale.py FULL WHOLE: print the points of the parts, where a sum of WHOLE earns FULL points."""

import sys

full, whole = map(float, sys.argv[1:])
parts = [line.split() for line in sys.stdin if line.strip()]
points = sum(float(score) for verdict, score in parts if verdict == "AC")
print("AC" if points else "WA", full * points / whole)
