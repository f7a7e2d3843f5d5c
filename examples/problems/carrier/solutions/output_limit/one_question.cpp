#include <cstdio>

int main() {
  int m, q;
  if (std::scanf("%d %d", &m, &q) != 2) return 1;
  while (q) std::printf("today %d is as good as tomorrow, and there will be a cart on one of these days\n", m);
}
