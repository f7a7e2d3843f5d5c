from bisect import bisect_right

n, d = map(int, input().split())
numbers = list(map(int, input().split()))
last, who, before = [], [], []
for i, number in enumerate(numbers):
    length = bisect_right(last, number - d)
    before.append(who[length - 1] if length else None)
    if length == len(last):
        last.append(number)
        who.append(i)
    elif number < last[length]:
        last[length], who[length] = number, i
places = []
i = who[-1]
while i is not None:
    places.append(i + 1)
    i = before[i]
print(len(places))
print(*reversed(places))
