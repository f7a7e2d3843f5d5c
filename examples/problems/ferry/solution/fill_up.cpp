#include "ferry.h"

// Every trip takes as many as there is room for.
long long crossing(int deck, std::vector<int> cars) {
  long long cost = 0, gap = deck;
  for (int car : cars) {
    if (gap < car) cost += gap * gap, gap = deck;
    gap -= car;
  }
  return cost + gap * gap;
}
