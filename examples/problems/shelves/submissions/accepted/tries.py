# The widest first, on each shelf with room in turn, never on two that have the same room.
import sys

n, width, *w = map(int, sys.stdin.read().split())
order = sorted(range(n), key=lambda i: -w[i])


def placed(k, room, shelf):
    if k == n:
        return True
    i = order[k]
    for s in range(len(room)):
        if room[s] >= w[i] and room[s] not in room[:s]:
            room[s] -= w[i]
            shelf[i] = s + 1
            if placed(k + 1, room, shelf):
                return True
            room[s] += w[i]
    return False


count = -(-sum(w) // width)
shelf = [0] * n
while not placed(0, [width] * count, shelf):
    count += 1
print(*shelf, sep="\n")
