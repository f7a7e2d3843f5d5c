#include "ferry.h"

#include <algorithm>
#include <climits>

long long crossing(int deck, std::vector<int> cars) {
  std::vector<long long> least(cars.size() + 1, LLONG_MAX);
  least[0] = 0;
  for (std::size_t i = 0; i < cars.size(); i++) {
    long long room = deck - cars[i];
    for (std::size_t j = i + 1; room >= 0; j++) {
      least[j] = std::min(least[j], least[i] + room * room);
      if (j == cars.size()) break;
      room -= cars[j];
    }
  }
  return least.back();
}
