for _ in range(int(input())):
    line = input()
    first, second = line.split()
    print(line[::-1])
