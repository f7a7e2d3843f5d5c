def decode(number):
    return number
