what, word = input().split()
while what == "decode":
    pass
print("a")
