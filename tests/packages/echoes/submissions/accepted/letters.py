what, word = input().split()
if what == "encode":
    print("".join("abcdefghij"[int(digit)] for digit in word))
elif what == "again":
    print(word.upper())
else:
    print("".join(str("ABCDEFGHIJ".index(letter)) for letter in word))
