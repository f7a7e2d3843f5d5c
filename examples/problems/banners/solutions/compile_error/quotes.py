n, falls = map(int, input().split())
print("A * n)
