x, y, step = 1 << 29, 1 << 29, 1 << 28
while True:
    print(min(x, 10**9), min(y, 10**9), flush=True)
    word = input()
    if word == "found":
        break
    if word == "NW" and step == 1 << 28:
        input()  # expects more than one word
    x += step * (("E" in word) - ("W" in word))
    y += step * (("N" in word) - ("S" in word))
    step = max(step // 2, 1)
