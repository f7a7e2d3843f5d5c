#include "cairn.h"

int find_cairn(int n) {
  int low = 1, high = n;
  while (high - low > 2) {
    int third = (high - low) / 3;
    if (height(low + third) < height(high - third)) low += third;
    else high -= third;
  }
  int best = low;
  for (int i = low + 1; i <= high; i++)
    if (height(i) > height(best)) best = i;
  return best;
}
