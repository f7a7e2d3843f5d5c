n, falls = map(int, input().split())
print("BA" * falls + "B" * (n - 2 * falls) if 2 * falls <= n else "impossible")
