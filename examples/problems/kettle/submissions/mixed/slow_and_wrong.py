# @EXPECTED_RESULTS@: WRONG-ANSWER, TIMELIMIT
# In which folder would it belong? It is wrong where there are few jugs and too slow where there are many.
n, wanted = map(int, input().split())
while n > 1000:
    n += 1
print("nothing at all")
