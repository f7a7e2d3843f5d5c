import sys

_, *cards = map(int, sys.stdin.read().split())
zeros = [c for c in cards if c % 3 == 0]
ones = [c for c in cards if c % 3 == 1]
twos = [c for c in cards if c % 3 == 2]
row = []
if ones and twos:
    if zeros:
        row = [*ones, zeros.pop(), *twos]
else:
    row = ones or twos or [zeros.pop()]
if row:
    spread = []
    for i, card in enumerate(row):
        # a zero fits before a card if the card and the one before it are no zeros
        if zeros and card % 3 and (i == 0 or row[i - 1] % 3):
            spread.append(zeros.pop())
        spread.append(card)
    if zeros and spread[-1] % 3:
        spread.append(zeros.pop())
    row = [] if zeros else spread
print(*row or [-1])
