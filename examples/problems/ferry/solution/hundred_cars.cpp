#include "ferry.h"

#include <algorithm>
#include <array>

long long crossing(int deck, std::vector<int> cars) {
  std::array<long long, 101> least{};
  for (int i = cars.size() - 1; i >= 0; i--) {
    long long gap = deck;
    least.at(i) = 4e18;
    for (std::size_t j = i; j < cars.size() && (gap -= cars[j]) >= 0; j++) least[i] = std::min(least[i], gap * gap + least[j + 1]);
  }
  return least[0];
}
