n, *weights = map(int, input().split())
print(sum(weights))
