#include "cairn.h"

#include <cstdio>
#include <cstdlib>

// The shepherd answers -1 when there is nothing more to ask.
long long height(int i) {
  long long h;
  std::printf("? %d\n", i);
  std::fflush(stdout);
  if (std::scanf("%lld", &h) != 1 || h < 0) std::exit(0);
  return h;
}

int main() {
  int n;
  if (std::scanf("%d", &n) != 1) return 1;
  std::printf("! %d\n", find_cairn(n));
  return 0;
}
