#include "cairn.h"

#include <vector>

int find_cairn(int n) {
  std::vector<long long> known(1000);
  int low = 1, high = n;
  while (low < high) {
    int middle = low + (high - low) / 2;
    known.at(middle) = height(middle);
    known.at(middle + 1) = height(middle + 1);
    if (known[middle] < known[middle + 1]) low = middle + 1;
    else high = middle;
  }
  return low;
}
