# A blank at the end of each line: only the last one is stripped.
for _ in range(int(input())):
    print(input()[::-1], end=" \n")
