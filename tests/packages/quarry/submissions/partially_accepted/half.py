# @EXPECTED_SCORE@: 7.5
print(int(input()) // 2)
