#include "cairn.h"

// Thinks it over before each question.
int find_cairn(int n) {
  int low = 1, high = n;
  while (low < high) {
    int middle = low + (high - low) / 2;
    if (n == 20000000)
      for (volatile long long thought = 0; thought < 10000000000; thought = thought + 1) {}
    if (height(middle) < height(middle + 1)) low = middle + 1;
    else high = middle;
  }
  return low;
}
