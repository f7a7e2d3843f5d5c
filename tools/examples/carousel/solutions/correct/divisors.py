import sys

ring = sys.stdin.buffer.readline().strip()
n = len(ring)
divisors = [d for d in range(1, int(n**0.5) + 1) if n % d == 0]
for turn in sorted({*divisors, *(n // d for d in divisors)}):
    if ring.startswith(ring[turn:]):
        print(turn)
        break
