import sys
from pathlib import Path

first, second, rest = Path(sys.argv[1]).read_text().split("\n")
assert len(second.split(" ")) == int(first) <= (10 if sys.argv[2] in "12" else 1000), sys.argv
assert rest == "", "more than two lines"
