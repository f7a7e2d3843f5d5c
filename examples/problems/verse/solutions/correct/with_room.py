lines = [input() for _ in range(int(input()))]
print("\n\n   ", "\n".join(line[::-1] for line in lines).lstrip(), sep="", end=" \n\n\t")
