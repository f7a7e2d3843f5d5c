# A large stock of paint, in case that a large frame is wanted.
w, h = map(int, input().split())
paint = [" "] * (w * h * 2000)
edge = "+" + "-" * (w - 2) + "+"
print("\n".join([edge, *["|" + "".join(paint[: w - 2]) + "|"] * (h - 2), edge]))
