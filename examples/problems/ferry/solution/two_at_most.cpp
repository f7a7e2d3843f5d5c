#include "ferry.h"

#include <algorithm>

// Thinks that there is never room for three.
long long crossing(int deck, std::vector<int> cars) {
  std::vector<long long> least = {0};
  for (std::size_t i = 0; i < cars.size(); i++) {
    long long gap = deck - cars[i], cost = least[i] + gap * gap;
    if (i > 0 && cars[i - 1] <= gap) cost = std::min(cost, least[i - 1] + (gap - cars[i - 1]) * (gap - cars[i - 1]));
    least.push_back(cost);
  }
  return least.back();
}
