#include "cairn.h"

#include <cstdio>

// Debugging output goes to the shepherd, who does not understand it.
int find_cairn(int n) {
  int low = 1, high = n;
  std::printf("looking for the cairn between %d and %d\n", low, high);
  while (low < high) {
    int middle = low + (high - low) / 2;
    if (height(middle) < height(middle + 1)) low = middle + 1;
    else high = middle;
  }
  return low;
}
