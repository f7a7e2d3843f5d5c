# checker.py INPUT CORRECT OUTPUT prints 1 for a right output and 0 for a wrong one.
import sys


def passed(size, falls, expected, words):
    if expected == ["impossible"] or words == ["impossible"]:
        return words == expected
    if len(words) != 1 or len(words[0]) != size or set(words[0]) - set("ABC"):
        return False
    return sum(left > right for left, right in zip(words[0], words[0][1:])) == falls


def main():
    with open(sys.argv[1]) as given, open(sys.argv[2]) as correct:
        size, falls = map(int, given.read().split())
        expected = correct.read().split()
    with open(sys.argv[3], errors="replace") as output:
        words = output.read().split()
    print(1 if passed(size, falls, expected, words) else 0)


main()
