from collections import deque


def longest_calm(winds, d):
    best, first = (0, 0), 0
    rising, falling = deque(), deque()
    for day, wind in enumerate(winds):
        while rising and winds[rising[-1]] >= wind:
            rising.pop()
        while falling and winds[falling[-1]] <= wind:
            falling.pop()
        rising.append(day)
        falling.append(day)
        while winds[falling[0]] - winds[rising[0]] > d:
            first += 1
            if rising[0] < first:
                rising.popleft()
            if falling[0] < first:
                falling.popleft()
        best = max(best, (day - first + 1, -first))
    return {"first": -best[1], "days": best[0]}
