#!/usr/bin/env python3
"""FULL WHOLE: what the parts come to, where WHOLE together are worth FULL points."""

import sys

full, whole = map(float, sys.argv[1:])
parts = [line.split() for line in sys.stdin if line.strip()]
points = sum(float(score) for verdict, score in parts if verdict == "AC")
print("AC" if points else "WA", full * points / whole)
