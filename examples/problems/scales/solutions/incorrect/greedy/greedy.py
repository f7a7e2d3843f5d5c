# The heaviest that still fits goes first.
n, wanted = map(int, input().split())
weights = list(map(int, input().split()))
for place in sorted(range(n), key=lambda place: -weights[place]):
    if weights[place] <= wanted:
        wanted -= weights[place]
        print(place + 1, end=" ")
print()
