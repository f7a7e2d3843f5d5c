# The right banners, but not as one word.
n, falls = map(int, input().split())
length = falls + 1 + max(falls - 1, 0) // 2
print(*("A" * (n - length) + ("CBA" * n)[:length] if falls and length <= n else ["impossible"] if falls else "B" * n))
