import sys

low, high = 1, 100
while True:
    guess = (low + high) // 2
    print(guess)  # a terminal shows it at once
    word = sys.stdin.readline().strip()
    if word == "here":
        break
    low, high = (guess + 1, high) if word == "north" else (low, guess - 1)
