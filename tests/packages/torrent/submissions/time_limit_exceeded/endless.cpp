// @EXPECTED_RESULTS@: TIMELIMIT
#include <cstdio>
int main() {
  int n;
  if (std::scanf("%d", &n) != 1) return 1;
  for (int i = 1; n > 2 || i <= n; i = i % 1000 + 1) std::printf("%d\n", i);
}
