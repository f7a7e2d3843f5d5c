assert input() == "buy", "it expects to run once"
print("? 1", flush=True)
print("!", 1 if input() == "enough" else 3, flush=True)
