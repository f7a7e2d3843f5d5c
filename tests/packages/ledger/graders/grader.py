from ledger import balance

print(balance([int(word) for word in input().split()]))
