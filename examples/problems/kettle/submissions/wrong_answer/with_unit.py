# One word too many.
n, wanted = map(int, input().split())
jugs = sorted((abs(t - wanted), t > wanted, v) for v, t in (map(int, input().split()) for _ in range(n)))
heat = [sum(off * v for off, hot, v in jugs if hot == side) for side in (False, True)]
litres = sum(v for off, _, v in jugs if off == 0)
left = [min(heat)] * 2
for off, hot, v in jugs:
    if off:
        most = min(left[hot], off * v)
        left[hot] -= most
        litres += most / off
print(f"{litres:.9f} litres" if litres else "nothing")
