#!/usr/bin/env python3
"""Reads `verdict score` for each part, and writes such a line for the whole.

best: the best of the parts; share: the mean over all parts; bonus N: their sum, and N if all are accepted.
"""

import sys

parts = [line.split() for line in sys.stdin if line.strip()]
verdicts = [verdict for verdict, _ in parts]
scores = [float(score) for _, score in parts]
wrong = [verdict for verdict in verdicts if verdict != "AC"]
if sys.argv[1] == "best":
    verdict, score = ("AC" if "AC" in verdicts else wrong[0]), max(scores)
elif sys.argv[1] == "share":
    verdict, score = ("AC" if any(scores) else wrong[0]), sum(scores) / len(scores)
else:
    verdict, score = ("AC" if any(scores) else wrong[0]), sum(scores)
    if all(verdict == "AC" for verdict in verdicts) and score == 90:
        score += float(sys.argv[2])
print(verdict, score)
