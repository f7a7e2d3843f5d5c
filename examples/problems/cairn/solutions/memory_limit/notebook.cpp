#include "cairn.h"

#include <vector>

static std::vector<long long> known;

static long long look(int i) {
  if (known[i] == 0) known[i] = height(i);
  return known[i];
}

int find_cairn(int n) {
  known.assign(n + 1, 0);
  int low = 1, high = n;
  while (low < high) {
    int middle = low + (high - low) / 2;
    if (look(middle) < look(middle + 1)) low = middle + 1;
    else high = middle;
  }
  return low;
}
