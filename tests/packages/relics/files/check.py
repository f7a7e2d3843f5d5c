import sys
from pathlib import Path

hidden = Path(sys.argv[1]).read_text().split()[1]
sys.exit(0 if Path(sys.argv[2]).read_text().split() == [hidden] else 1)
