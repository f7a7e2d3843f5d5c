lines = [list(input()) for _ in range(int(input()))]
for line in lines:
    for last in range(len(line) - 1, 0, -1):
        for k in range(last):
            for _ in lines:
                line[k], line[k + 1] = line[k + 1], line[k]
            if len(lines) % 2 == 0:
                line[k], line[k + 1] = line[k + 1], line[k]
print("\n".join(map("".join, lines)))
