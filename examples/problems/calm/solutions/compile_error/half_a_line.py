def longest_calm(winds, d):
    return {"first": 0, "days":
