# Right, but prints its answer where nobody reads it.
import heapq

r, c, *height = map(int, open("tide.in").read().split())
latest, heap = {}, [(-height[-1], r * c - 1)]
while heap:
    minute, x = heapq.heappop(heap)
    if x in latest:
        continue
    latest[x] = -minute
    for y in (x - c, x + c, x - 1 if x % c else -1, x + 1 if (x + 1) % c else -1):
        if 0 <= y < r * c and y not in latest and min(-minute - 1, height[y]) >= 0:
            heapq.heappush(heap, (-min(-minute - 1, height[y]), y))
print(latest.get(0, -1))
