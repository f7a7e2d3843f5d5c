lines = [input() for _ in range(int(input()))]
drafts = []
for line in lines:
    for start in range(len(line), -1, -1):
        drafts.append(line[:start:-1] * len(lines))
    drafts.append(line[::-1])
at = 0
for line in lines:
    at += len(line) + 2
    print(drafts[at - 1])
