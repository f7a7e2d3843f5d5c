#include "gradini.h"

#include <cstdio>

int main() {
  int steps;
  if (std::scanf("%d", &steps) != 1) return 1;
  std::printf("%lld\n", static_cast<long long>(ways(steps)));
}
