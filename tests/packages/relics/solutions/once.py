what, word = input().split()
assert what == "hide"
print("word")
