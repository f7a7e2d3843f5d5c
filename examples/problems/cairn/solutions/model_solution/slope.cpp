#include "cairn.h"

// Two stones side by side say whether the path still climbs.
int find_cairn(int n) {
  int low = 1, high = n;
  while (low < high) {
    int middle = low + (high - low) / 2;
    if (height(middle) < height(middle + 1)) low = middle + 1;
    else high = middle;
  }
  return low;
}
