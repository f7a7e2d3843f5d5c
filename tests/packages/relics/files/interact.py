"""Forward the first run's string to the second run, whose reply is stored for the checker."""

import sys
from pathlib import Path

task = Path(sys.argv[1]).read_text().split()
print(*task, flush=True)
said = input()
if task[0] == "hide" and not said.isalpha():
    print("a word is letters", file=sys.stderr)
    sys.exit(1)
Path(sys.argv[2]).write_text(f"find {said}\n" if task[0] == "hide" else f"{said}\n")
