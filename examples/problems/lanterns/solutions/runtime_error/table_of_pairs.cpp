#include "lanterns.h"

#include <algorithm>
#include <cstdlib>

struct Window {
  long long dimmest;
  int from, to, padding[12];
};

// A table of all windows. For a long street malloc has nothing to give, and nobody looks.
long long festival_glow(std::vector<int> b, int k) {
  std::size_t n = b.size();
  Window *table = (Window *)std::malloc(n * n * sizeof(Window));
  long long sum = 0;
  for (std::size_t j = 0; j + k <= n; j++) {
    Window &w = table[j * n + k - 1];
    w.dimmest = b[j];
    for (std::size_t i = j; i < j + k; i++) w.dimmest = std::min<long long>(w.dimmest, b[i]);
    sum += w.dimmest;
  }
  return sum;
}
