w, h = map(int, input().split())
edge = "+" + "-" * (w - 2) + "+"
print("\n".join([edge, *["|" + " " * (w - 2) + "|"] * (h - 2), edge]), end="")
