#!/usr/bin/env python3
"""As many points as stones were taken, if they are no more than there are."""

import sys
from pathlib import Path

there = int(Path(sys.argv[1]).read_text())
words = sys.stdin.read().split()
if len(words) != 1 or not words[0].isdecimal() or not 0 < int(words[0]) <= there:
    sys.exit(43)
(Path(sys.argv[3]) / "score.txt").write_text(words[0])
sys.exit(42)
