# Goes as far as the compass points.
import sys

x = y = step = 500_000_000
word = "?"
while word not in ("found", ""):
    print(x, y, flush=True)
    word = sys.stdin.readline().strip()
    x += step * (("E" in word) - ("W" in word))
    y += step * (("N" in word) - ("S" in word))
