n = int(input())
print("Is it in the first half?", flush=True)
answer = input()
if answer != "enough":
    print("! 1" if answer == "yes" else f"! {n}")
