#include "ferry.h"

#include <algorithm>

static long long from(std::size_t i, long long deck, const std::vector<int> &cars) {
  if (i == cars.size()) return 0;
  long long best = 4e18, gap = deck;
  for (std::size_t j = i; j < cars.size() && (gap -= cars[j]) >= 0; j++) best = std::min(best, gap * gap + from(j + 1, deck, cars));
  return best;
}

long long crossing(int deck, std::vector<int> cars) {
  return from(0, deck, cars);
}
