# Returns nothing; what is printed does not count.
def longest_calm(winds, d):
    best = (0, 0)
    for first in range(min(len(winds), 60)):
        low = high = winds[first]
        for day in range(first, min(first + 60, len(winds))):
            low, high = min(low, winds[day]), max(high, winds[day])
            if high - low > d:
                break
            best = max(best, (day - first + 1, -first))
    print({"first": -best[1], "days": best[0]})
