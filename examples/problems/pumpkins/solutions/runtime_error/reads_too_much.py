n = int(input())
weights = [int(input()) for _ in range(n)]  # they are all on one line
print("AB" * (n // 2) + "A" * (n % 2))
