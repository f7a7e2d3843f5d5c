n, s, p, q, m = map(int, input().split())
for parcel in range(10 * 1024):
    print("parcel", parcel, "." * 1024)
