# What to answer in every minute, for every cart.
m, q = map(int, input().split())
carts = sorted(map(int, input().split()))
table = []
for cart in carts:
    table.append([cart - now if now <= cart else cart + 100000 - now for now in range(100000)])
for now in map(int, input().split()):
    wait = min(row[now] for row in table)
    print("today" if now + wait < 100000 else "tomorrow", wait)
