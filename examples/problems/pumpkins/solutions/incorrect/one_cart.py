print("A" * int(input()))
