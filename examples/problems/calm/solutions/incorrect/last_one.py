def longest_calm(winds, d):
    best = (0, 0)
    for first in range(len(winds)):
        low = high = winds[first]
        for day in range(first, min(first + 60, len(winds))):
            low, high = min(low, winds[day]), max(high, winds[day])
            if high - low > d:
                break
            best = max(best, (day - first + 1, first))  # the later one of two
    return {"first": best[1], "days": best[0]}
