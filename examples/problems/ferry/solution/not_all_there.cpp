#include "ferry.h"

long long crossing(int deck, std::vector<int> cars) {
  return deck * least_cost(cars, 0);
}
