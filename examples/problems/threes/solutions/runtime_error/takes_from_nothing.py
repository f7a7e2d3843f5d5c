import sys

cards = list(map(int, sys.stdin.read().split()))[1:]
rest = [[c for c in cards if c % 3 == r] for r in range(3)]
both = bool(rest[1]) and bool(rest[2])
if len(rest[0]) > len(rest[1]) + len(rest[2]) + 1:
    print(-1)
    sys.exit()
middle = [rest[0].pop()] if both else []  # IndexError when there is no zero
row = rest[1] + middle + rest[2] or [rest[0].pop()]
out = []
for i, c in enumerate(row):
    if rest[0] and c % 3 and (i == 0 or row[i - 1] % 3):
        out.append(rest[0].pop())
    out.append(c)
print(*out, *rest[0])
