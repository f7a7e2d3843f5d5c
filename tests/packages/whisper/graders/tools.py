def number(stream):
    return int(stream.readline())
