n, d = map(int, input().split())
b = list(map(int, input().split()))
length = [1] * n
for i in range(n):
    for j in range(max(0, i - 100), i):
        if b[i] - b[j] >= d:
            length[i] = max(length[i], length[j] + 1)
print(f"At most {max(length)} runners.")  # not of the agreed form: exit code 2
