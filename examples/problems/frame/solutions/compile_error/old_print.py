w, h = map(int, input().split())
print "+" + "-" * (w - 2) + "+"
