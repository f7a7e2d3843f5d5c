#include "lanterns.h"

long long festival_glow(std::vector<int> b, int k) {
  long long sum = 0;
  for (int j = 0; j + k <= b.size(); j++) {
    sum += min_element(b.begin() + j, b.begin() + j + k);
  }
  return sum;
}
