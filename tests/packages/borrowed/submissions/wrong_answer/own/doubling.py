def doubled(value):
    return 2
