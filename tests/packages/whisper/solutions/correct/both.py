def soft(number):
    return number // 2


def loud(number):
    return number * 2
