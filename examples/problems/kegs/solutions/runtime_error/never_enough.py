# Takes whatever is not yes for no, until nobody answers any more.
n = int(input())
keg = 1
while keg <= n:
    print("?", keg, keg, flush=True)
    if input() == "yes":
        break
    keg += 1
print("!", keg)
