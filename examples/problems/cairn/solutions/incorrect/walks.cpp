#include "cairn.h"

int find_cairn(int n) {
  int i = 1;
  while (i < n && height(i) < height(i + 1)) i++;
  return i;
}
