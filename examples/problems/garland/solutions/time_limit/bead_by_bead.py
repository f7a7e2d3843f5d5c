P = 10**9 + 7
for _ in range(int(input())):
    n = int(input())
    a1, a2, b1, b2, c1, c2 = 1, 0, 1, 0, 1, 0
    for _ in range(n - 1):
        a1, a2, b1, b2, c1, c2 = (b1 + b2) % P, a1, (a1 + a2 + c1 + c2) % P, b1, (a1 + a2 + b1 + b2) % P, c1
    print((a1 + a2 + b1 + b2 + c1 + c2) % P)
