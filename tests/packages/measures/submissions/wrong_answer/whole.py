# Right by the flags of the samples and of the first group. @EXPECTED_RESULTS@: WRONG-ANSWER
print(int(input()) // 2)
