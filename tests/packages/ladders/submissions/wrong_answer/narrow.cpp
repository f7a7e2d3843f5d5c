// @EXPECTED_SCORE@: 45
#include <cstdio>

int main() {
  int n;
  if (std::scanf("%d", &n) != 1) return 1;
  std::printf("%d\n", static_cast<int>(static_cast<unsigned>(n) * static_cast<unsigned>(n)));
}
