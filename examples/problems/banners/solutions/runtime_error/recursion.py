def hang(n, falls, last):
    if n == 0:
        return "" if falls == 0 else None
    if falls and last > "A":
        rest = hang(n - 1, falls - 1, chr(ord(last) - 1))
        return rest and chr(ord(last) - 1) + rest if n > 1 else rest if rest is None else chr(ord(last) - 1)
    rest = hang(n - 1, falls, "C" if falls else last)
    return None if rest is None else ("C" if falls else last) + rest


n, falls = map(int, input().split())
rest = hang(n - 1, falls, "C")
print("impossible" if rest is None else "C" + rest)
