task, text = input().split()
while task == "decode":
    pass
print("word")
