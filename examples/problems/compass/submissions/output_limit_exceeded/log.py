import sys

while True:
    sys.stderr.write("Ship ahoy! " * 9000)
