w, h = map(int, input().split())
print("+" + "-" * (w - 2) + "+")
side = "|" + " " * (w - 2) + "|\n"
while True:
    print(side * 9999, end="")
