#!/usr/bin/env python3
"""One point for each stone in the output; more stones than in the input are wrong."""

import sys
from pathlib import Path

there = int(Path(sys.argv[1]).read_text())
words = sys.stdin.read().split()
if len(words) != 1 or not words[0].isdecimal() or not 0 < int(words[0]) <= there:
    sys.exit(43)
(Path(sys.argv[3]) / "score.txt").write_text(words[0])
sys.exit(42)
