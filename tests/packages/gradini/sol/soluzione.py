def ways(steps):
    one, after = 1, 1
    for _ in range(steps - 1):
        one, after = after, one + after
    return after
