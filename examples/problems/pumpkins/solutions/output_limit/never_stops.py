import sys

n = int(input())
while True:  # should have been: for each pumpkin
    sys.stdout.write("AB" * 50000)
