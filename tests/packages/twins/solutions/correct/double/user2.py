def decode(number):
    return number // 2
