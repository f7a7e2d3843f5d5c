def longest_calm(winds, d):
    best = (0, 0)
    for first in range(len(winds)):
        for after in range(first + 1, len(winds) + 1):
            row = winds[first:after]
            if max(row) - min(row) <= d:
                best = max(best, (after - first, -first))
    return {"first": -best[1], "days": best[0]}
