#include "cairn.h"

#include <cstdio>
#include <string>

// Writes to standard error, which is nobody's business but still too much.
int find_cairn(int n) {
  int low = 1, high = n;
  const std::string page(16 << 20, '.');
  while (low < high) {
    int middle = low + (high - low) / 2;
    if (height(middle) < height(middle + 1)) low = middle + 1;
    else high = middle;
    std::fputs(page.c_str(), stderr);
  }
  return low;
}
