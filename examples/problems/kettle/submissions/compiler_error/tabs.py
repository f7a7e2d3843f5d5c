n, wanted = map(int, input().split())
if n > 1:
print("nothing")
