n = int(input())
print("".join("AB"[i % 2] for i in range(n)))
