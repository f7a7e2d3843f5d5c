# Five cups to a litre.
n, wanted = map(int, input().split())
cups = []
for _ in range(n):
    v, t = map(int, input().split())
    cups.extend((abs(t - wanted), t > wanted, cup) for cup in range(5 * v))
cups.sort()
heat = [sum(off for off, hot, _ in cups if hot == side) for side in (False, True)]
poured = sum(off == 0 for off, _, _ in cups)
left = [min(heat)] * 2
for off, hot, _ in cups:
    if off:
        most = min(left[hot], off)
        left[hot] -= most
        poured += most / off
print(poured / 5 if poured else "nothing")
