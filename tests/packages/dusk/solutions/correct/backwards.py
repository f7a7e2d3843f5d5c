def evening(word):
    return word[::-1]


def morning(word):
    return word[::-1]
