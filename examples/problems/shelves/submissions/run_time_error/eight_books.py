# @EXPECTED_GRADES@ AC RTE
from itertools import permutations

n, width = map(int, input().split())
w = list(map(int, input().split()))
assert n <= 8
best = list(range(n + 1))
for order in permutations(range(n)):
    shelf, last, room = [0] * n, 0, 0
    for i in order:
        if room < w[i]:
            last, room = last + 1, width
        room -= w[i]
        shelf[i] = last
    if last < max(best):
        best = shelf
print(*best)
