m, q = map(int, input().split())
carts = sorted(map(int, input().split()))
for now in map(int, input().split()):
    print("today", next(cart for cart in carts if cart >= now) - now)
