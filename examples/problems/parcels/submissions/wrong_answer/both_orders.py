# @EXPECTED_GRADES@ WA WA WA
n, s, p, q, m = map(int, input().split())
seen = {}
for i in range(1, n + 1):
    weight = (p * i * i + q * i) % m
    seen[weight] = seen.get(weight, 0) + 1
print(sum(count * seen.get(s - weight, 0) for weight, count in seen.items()))
