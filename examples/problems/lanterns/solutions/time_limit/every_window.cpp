#include "lanterns.h"

#include <algorithm>

long long festival_glow(std::vector<int> b, int k) {
  long long sum = 0;
  for (int j = 0; j + k <= (int)b.size(); j++) sum += *std::min_element(b.begin() + j, b.begin() + j + k);
  return sum;
}
