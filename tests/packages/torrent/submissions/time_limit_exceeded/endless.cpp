// @EXPECTED_RESULTS@: TIMELIMIT
#include <cstdio>
int main() {
  for (int i = 1;; i = i % 1000 + 1) std::printf("%d\n", i);
}
