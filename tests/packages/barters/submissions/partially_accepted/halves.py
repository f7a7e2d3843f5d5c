input()
low, high = 1, 4
while low < high:
    middle = (low + high) // 2
    print("?", middle, flush=True)
    if input() == "enough":
        high = middle
    else:
        low = middle + 1
print("!", low, flush=True)
