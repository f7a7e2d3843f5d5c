def tasted(a, b):
    print("?", a, b, flush=True)
    return input() == "yes"


n = int(input())
before = 0  # so many kegs are known to hold wine
step = 1 << max(n - 1, 0).bit_length()
while step > 1:
    step //= 2
    if before + step < n and not tasted(before + 1, before + step):
        before += step
print("!", before + 1)
