print(500_000_000, 500_000_000, flush=True)
input()
