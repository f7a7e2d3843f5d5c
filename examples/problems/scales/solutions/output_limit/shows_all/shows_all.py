n, wanted = map(int, input().split())
weights = list(map(int, input().split()))
choice = 0
while wanted:
    print(f"{choice:>1000}" * 100)
    choice += 1
