#include "ferry.h"

#include <algorithm>

// least[i]: what the cars from i on cost.
long long crossing(int deck, std::vector<int> cars) {
  int n = cars.size();
  std::vector<long long> least(n + 1);
  for (int i = n - 1; i >= 0; i--) {
    long long gap = deck;
    least[i] = 4e18;
    for (int j = i; j < n && (gap -= cars[j]) >= 0; j++) least[i] = std::min(least[i], gap * gap + least[j + 1]);
  }
  return least[0];
}
