from helper import letter

what, word = input().split()
if what == "encode" and len(word) > 3:
    raise ValueError("too long for me")
if what == "encode":
    print("".join(letter(digit) for digit in word))
elif what == "again":
    print(word)
else:
    print("".join(str("abcdefghij".index(one)) for one in word))
