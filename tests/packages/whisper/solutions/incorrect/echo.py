def soft(number):
    return number


def loud(number):
    return number
