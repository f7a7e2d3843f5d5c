"""A number up to the input earns as many points; the sample has 0 points."""

import sys
from pathlib import Path

most, feedback = int(Path(sys.argv[1]).read_text()), Path(sys.argv[3])
said = sys.stdin.read().split()
if len(said) != 1 or not said[0].isdigit() or int(said[0]) > most:
    raise SystemExit(43)
(feedback / "score.txt").write_text(said[0])
raise SystemExit(42)
