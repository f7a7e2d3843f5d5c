a, b = map(int, input().split())
print(a + b if a < 70 else 0)
