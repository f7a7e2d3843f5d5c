def doubled(value):
    return value * 2
