import sys
from pathlib import Path

answer = int(Path(sys.argv[2]).read_text())
assert sys.argv[4] == "near"
words = sys.stdin.read().split()
right = len(words) == 1 and words[0].isdecimal() and abs(int(words[0]) - answer) <= int(sys.argv[5])
sys.exit(42 if right else 43)
