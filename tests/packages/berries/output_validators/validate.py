"""A number that is at most the input earns as many points, also in the sample, which has no scale."""

import sys
from pathlib import Path

most, feedback = int(Path(sys.argv[1]).read_text()), Path(sys.argv[3])
said = sys.stdin.read().split()
if len(said) != 1 or not said[0].isdigit() or int(said[0]) > most:
    raise SystemExit(43)
(feedback / "score.txt").write_text(said[0])
raise SystemExit(42)
