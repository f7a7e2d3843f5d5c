n, width = map(int, input().split())
w = list(map(int, input().split()))
room, shelf = [], [0] * n
for i in sorted(range(n), key=lambda i: -w[i]):
    s = next((s for s in range(len(room)) if room[s] >= w[i]), len(room))
    if s == len(room):
        room.append(width)
    room[s] -= w[i]
    shelf[i] = s + 1
print(*shelf)
