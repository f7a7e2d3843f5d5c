canvas = [[" "] * 100 for _ in range(100)]
w, h = map(int, input().split())
for j in range(w):
    canvas[0][j] = canvas[h - 1][j] = "-"
for i in range(h):
    canvas[i][0] = canvas[i][w - 1] = "|"
for i in (0, h - 1):
    canvas[i][0] = canvas[i][w - 1] = "+"
for row in canvas[:h]:
    print("".join(row[:w]))
