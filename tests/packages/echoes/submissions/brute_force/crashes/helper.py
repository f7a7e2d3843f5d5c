def letter(digit):
    return "abcdefghij"[int(digit)]
