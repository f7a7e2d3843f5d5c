# 007 is another word than 7.
from bisect import bisect_left

m, q = map(int, input().split())
carts = sorted(map(int, input().split()))
for now in map(int, input().split()):
    at = bisect_left(carts, now)
    print(f"today {carts[at] - now:09}" if at < m else f"tomorrow {carts[0] + 100000 - now:09}")
