m, q = map(int, input().split())
carts = list(map(int, input().split()))
for now in map(int, input().split()):
    wait = 0
    while (now + wait) % 100000 not in carts:
        wait += 1
    print("today" if now + wait < 100000 else "tomorrow", wait)
