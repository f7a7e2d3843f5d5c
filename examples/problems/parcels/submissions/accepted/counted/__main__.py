from weights import weights

n, s, p, q, m = map(int, input().split())
seen = {}
ways = 0
for weight in weights(n, p, q, m):
    ways += seen.get(s - weight, 0)
    seen[weight] = seen.get(weight, 0) + 1
print(ways)
