"""Answer four questions in the first pass and three in the second, which gets a number from the first."""

import sys
from pathlib import Path

task = Path(sys.argv[1]).read_text()
hidden = int(Path(sys.argv[2]).read_text())
feedback = Path(sys.argv[3])
first = task.split()[0] == "climb"
print(task, end="", flush=True)
asked = 0
while (words := input().split())[0] == "?":
    asked += 1
    if asked > (4 if first else 3):
        sys.exit(43)
    print("yes" if hidden >= int(words[1]) else "no", flush=True)
if not first:
    sys.exit(42 if words == ["!", str(hidden)] else 43)
(feedback / "nextpass.in").write_text(f"return {int(words[1])}\n")
sys.exit(42)
