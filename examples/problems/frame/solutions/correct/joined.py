w, h = map(int, input().split())
edge = "+" + "-" * (w - 2) + "+\n"
print(edge + ("|" + " " * (w - 2) + "|\n") * (h - 2) + edge, end="")
