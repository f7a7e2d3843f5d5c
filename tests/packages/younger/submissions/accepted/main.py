from doubling import doubled

print(doubled(int(input())) + 1)
