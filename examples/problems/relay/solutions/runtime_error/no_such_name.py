n, d = map(int, input().split())
b = list(map(int, input().split()))
length = [1] * n
for i in range(n):
    for j in range(i):
        if b[i] - b[j] >= d:
            lenght[i] = max(length[i], length[j] + 1)
places = sorted(range(n), key=lenght.__getitem__)
print(max(length))
print(*places)
