from math import isqrt

n = int(input())
width = isqrt(n)
keg = 1
while keg + width <= n:
    print("?", keg, keg + width - 1, flush=True)
    if input() == "yes":
        break
    keg += width
last = min(n, keg + width - 1)
while keg < last:
    print("?", keg, keg, flush=True)
    if input() == "yes":
        break
    keg += 1
print("!", keg)
