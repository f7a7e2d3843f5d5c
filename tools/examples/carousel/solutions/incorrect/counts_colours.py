from functools import reduce
from math import gcd

ring = input()
print(len(ring) // reduce(gcd, [ring.count(colour) for colour in set(ring)]))
