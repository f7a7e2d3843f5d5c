def longest_calm(winds, d):
    best = (0, 0)
    for first in range(len(winds)):
        days = 0
        while max(winds[first : first + days + 1]) - min(winds[first : first + days + 1]) <= d:
            days += 1
            winds[first + days]
        best = max(best, (days, -first))
    return {"first": -best[1], "days": best[0]}
