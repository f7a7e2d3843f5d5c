n, width = map(int, input().split())
print(*range(1, n + 1))
