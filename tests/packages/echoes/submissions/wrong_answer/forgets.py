# Its word for large numbers says nothing.
what, word = input().split()
if what == "encode":
    print("a" * min(int(word) + 1, 20))
elif what == "again":
    print(word)
else:
    print(len(word) - 1)
