import sys

n = int(input())
while n > 1:
    sys.stderr.write("How should I know? " * 5000)
print("!", n)
