def longest_calm(winds, d):
    spread = []  # spread[first][k]: how far k + 1 days from there differ
    for first, wind in enumerate(winds):
        low = high = wind
        spread.append([0] * (len(winds) - first))
        for k, other in enumerate(winds[first:]):
            low, high = min(low, other), max(high, other)
            if high - low > d:
                break
            spread[first][k] = 1
    best = max((sum(row), -first) for first, row in enumerate(spread))
    return {"first": -best[1], "days": best[0]}
