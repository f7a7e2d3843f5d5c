#include "lanterns.h"

#include <algorithm>
#include <cstdlib>

long long festival_glow(std::vector<int> b, int k) {
  if (b.size() > 1000) std::exit(3);
  long long sum = 0;
  for (int j = 0; j + k <= (int)b.size(); j++) sum += *std::min_element(b.begin() + j, b.begin() + j + k);
  return sum;
}
