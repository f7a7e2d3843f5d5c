#include <cstdio>

int main() {
  int n, falls;
  if (std::scanf("%d %d", &n, &falls) != 2) return 1;
  for (int i = 0; i < n; i++) std::putchar("CBA"[i % 3]);
}
