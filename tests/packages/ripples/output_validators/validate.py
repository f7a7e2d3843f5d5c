"""The first two passes print a string for the next pass; the last pass must print the number."""

import sys
from pathlib import Path

given = Path(sys.argv[1]).read_text().split()
number = Path(sys.argv[2]).read_text().split()[0]
feedback = Path(sys.argv[3])
said = sys.stdin.read().split()
if given[0] == "decode":
    sys.exit(42 if said == [number] else 43)
if len(said) != 1 or not said[0].isalpha():
    sys.exit(43)
(feedback / "nextpass.in").write_text(f"{'again' if given[0] == 'encode' else 'decode'} {said[0]}\n")
sys.exit(42)
