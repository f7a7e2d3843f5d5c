# Its string for large numbers does not identify the number.
what, word = input().split()
if what == "encode":
    print("a" * min(int(word) + 1, 20))
elif what == "again":
    print(word)
else:
    print(len(word) - 1)
