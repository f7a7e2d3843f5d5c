task, low = input().split()
low, size = int(low), 128 if task == "climb" else 8
for _ in range(4 if task == "climb" else 3):
    size //= 2
    print("?", low + size, flush=True)
    if input() == "yes":
        low += size
print("!", low, flush=True)
