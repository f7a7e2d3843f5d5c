while True:
    print("~" * 100000)
