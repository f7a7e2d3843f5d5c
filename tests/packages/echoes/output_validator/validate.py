"""The first two passes give a word, which the next pass gets; the last one must say the number again."""

import sys
from pathlib import Path

given = Path(sys.argv[1]).read_text().split()
number = Path(sys.argv[2]).read_text().split()[0]
feedback = Path(sys.argv[3])
history = feedback / "history.txt"  # files other than nextpass.in stay from pass to pass
passes = history.read_text().split() if history.exists() else []
assert given == [["encode", number], ["again", *passes[-1:]], ["decode", *passes[-1:]]][len(passes)]
said = sys.stdin.read().split()
if len(passes) == 2:
    sys.exit(42 if said == [number] else 43)
if len(said) != 1 or not said[0].isalpha():
    sys.exit(43)
history.write_text(" ".join([*passes, said[0]]))
(feedback / "nextpass.in").write_text(f"{'decode' if passes else 'again'} {said[0]}\n")
sys.exit(42)
