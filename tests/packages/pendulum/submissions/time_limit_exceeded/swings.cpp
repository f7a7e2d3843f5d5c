#include <cstdio>

int main() {
  int n;
  if (std::scanf("%d", &n) != 1) return 1;
  volatile unsigned swings = 0;
  while (n > 3) swings = swings + 1;
  std::printf("%d\n", 2 * n);
}
