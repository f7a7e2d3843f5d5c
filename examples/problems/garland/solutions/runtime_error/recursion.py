import functools


@functools.lru_cache(maxsize=None)
def garlands(n):
    if n < 5:
        return (2, 3, 8, 18, 42)[n]
    return (garlands(n - 1) + 2 * garlands(n - 2) + 2 * garlands(n - 3) + garlands(n - 4)) % (10**9 + 7)


for _ in range(int(input())):
    print(garlands(int(input())))
