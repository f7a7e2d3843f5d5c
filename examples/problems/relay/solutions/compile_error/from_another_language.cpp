n, d = map(int, input().split())
b = list(map(int, input().split()))
print(n)
