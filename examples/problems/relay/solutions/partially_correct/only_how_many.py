from bisect import bisect_right

n, d = map(int, input().split())
last = []
for number in map(int, input().split()):
    at = bisect_right(last, number - d)
    if at == len(last):
        last.append(number)
    else:
        last[at] = min(last[at], number)
print(len(last))
