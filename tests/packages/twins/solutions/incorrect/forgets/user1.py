def encode(number):
    return 2 * number
