def encode(number):
    return number  # and no user2
