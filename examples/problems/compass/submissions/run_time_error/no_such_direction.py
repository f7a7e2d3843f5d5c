MOVES = {"N": (0, 1), "E": (1, 0), "S": (0, -1), "W": (-1, 0)}

x, y, step = 1 << 29, 1 << 29, 1 << 28
while True:
    print(min(x, 10**9), min(y, 10**9), flush=True)
    word = input()
    if word == "found":
        break
    east, north = MOVES[word]
    x, y, step = x + step * east, y + step * north, max(step // 2, 1)
