def weights(n, p, q, m):
    for i in range(1, n + 1):
        yield (p * i * i + q * i) % m
