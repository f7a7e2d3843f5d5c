what, word = input().split()
print("abc" if what == "hide" else len(word))
