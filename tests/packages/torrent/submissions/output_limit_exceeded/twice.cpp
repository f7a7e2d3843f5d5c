// Right at first, and then as much again as there may be.
#include <cstdio>
int main() {
  int n;
  if (std::scanf("%d", &n) != 1) return 1;
  for (int i = 1; i <= n; ++i) std::printf("%d\n", i);
  for (int i = 0; i < 1000000; ++i) std::printf("0\n");
}
