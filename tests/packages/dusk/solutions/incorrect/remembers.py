kept = ""


def evening(word):
    global kept
    kept = word
    return "nothing"


def morning(word):
    return kept
