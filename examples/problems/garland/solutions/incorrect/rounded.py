# Fits a growth rate to the first values: right for short garlands only.
known = [2, 3, 8, 18, 42, 97, 225, 521, 1207]
for _ in range(int(input())):
    n = int(input())
    if n < len(known):
        print(known[n])
    else:
        print(1207 * pow(232, n - 8, 10**9 + 7) * pow(100, 8 - n, 10**9 + 7) % (10**9 + 7))
