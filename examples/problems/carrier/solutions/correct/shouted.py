from bisect import bisect_left

m, q = map(int, input().split())
carts = sorted(map(int, input().split()))
words = []
for now in map(int, input().split()):
    at = bisect_left(carts, now)
    words += ["TODAY", carts[at] - now] if at < m else ["Tomorrow", carts[0] + 100000 - now]
print(*words, sep="\n\n ", end="")
