import heapq

with open("tide.in") as file:
    r, c, *height = map(int, file.read().split())
latest = [-1] * (r * c)
heap = [(-height[-1], r * c - 1)]
while heap:
    minute, x = heapq.heappop(heap)
    if latest[x] >= 0:
        continue
    latest[x] = -minute
    beside = [x - c, x + c]
    if x % c:
        beside.append(x - 1)
    if x % c < c - 1:
        beside.append(x + 1)
    for y in beside:
        if 0 <= y < r * c and latest[y] < 0:
            before = min(-minute - 1, height[y])
            if before >= 0:
                heapq.heappush(heap, (-before, y))
with open("tide.out", "w") as file:
    print(latest[0], file=file)
