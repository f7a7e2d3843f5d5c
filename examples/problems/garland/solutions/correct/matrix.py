MOD = 10**9 + 7


def times(x, y):
    columns = list(zip(*y))
    return [[sum(a * b for a, b in zip(row, column)) % MOD for column in columns] for row in x]


def one_bead():
    step = [[0] * 6 for _ in range(6)]
    for last in range(3):
        for run in range(2):
            for bead in range(3):
                if last == 2 and bead == 0:
                    continue
                if bead != last:
                    step[2 * last + run][2 * bead] = 1
                elif run == 0:
                    step[2 * last][2 * last + 1] = 1
    return step


def garlands(n):
    row, step, n = [[1, 0, 1, 0, 1, 0]], one_bead(), n - 1
    while n:
        if n & 1:
            row = times(row, step)
        step = times(step, step)
        n >>= 1
    return sum(row[0]) % MOD


for _ in range(int(input())):
    print(garlands(int(input())))
