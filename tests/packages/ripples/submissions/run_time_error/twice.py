task, text = input().split()
assert task != "decode", "it expects to run twice"
print("".join(chr(ord("a") + int(digit)) for digit in text) if task == "encode" else text)
