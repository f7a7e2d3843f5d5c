input()
price = 1
while True:
    print("?", price, flush=True)
    if input() == "enough":
        break
    price += 1
print("!", price, flush=True)
