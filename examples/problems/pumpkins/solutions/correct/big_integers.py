n = int(input())
weights = list(map(int, input().split()))
reach = [1]  # bit s of reach[i]: the first i pumpkins can make the load s
for w in weights:
    reach.append(reach[-1] | reach[-1] << w)
half = sum(weights) // 2
load = (reach[-1] & ((1 << half + 1) - 1)).bit_length() - 1
carts = ["B"] * n
for i in range(n - 1, -1, -1):
    if not reach[i] >> load & 1:
        carts[i] = "A"
        load -= weights[i]
print("".join(carts))
