task, text = input().split()
if task == "encode":
    print("".join(chr(ord("a") + int(digit)) for digit in text))
elif task == "again":
    print(text[::-1])
else:
    print("".join(str(ord(letter) - ord("a")) for letter in reversed(text)))
