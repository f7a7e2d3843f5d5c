# Right as long as the innkeeper can stand.
n = int(input())
for keg in range(1, n + 1):
    print("?", keg, keg, flush=True)
    answer = input()
    if answer == "enough":
        break
    if answer == "yes":
        print("!", keg)
        break
