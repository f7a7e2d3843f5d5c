input()
print("! 2", flush=True)
