shelf = 1
while True:
    print(f"{shelf} " * 10000)
