import sys

w, h = map(int, input().split())
edge = "+" + "-" * (w - 2) + "+\r\n"
sys.stdout.write(edge + ("|" + " " * (w - 2) + "|\r\n") * (h - 2) + edge)
