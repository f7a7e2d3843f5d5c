what, word = input().split()
if what == "hide":
    print("".join("abcdefghij"[int(digit)] for digit in word))
else:
    print("".join(str("abcdefghij".index(letter)) for letter in word))
