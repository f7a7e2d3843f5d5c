m, q = map(int, input().split())
carts = list(map(int, input().split()))
for now in map(int, input().split()):
    wait = 0
    while all(cart != (now + wait) % 100000 for cart in carts):
        wait += 1
    print("today" if now + wait < 100000 else "tomorrow", wait)
