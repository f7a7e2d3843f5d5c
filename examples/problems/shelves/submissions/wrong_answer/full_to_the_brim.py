# By the sum of all widths: books do not come in slices.
n, width = map(int, input().split())
used = 0
for book in map(int, input().split()):
    used += book
    print((used + width - 1) // width)
