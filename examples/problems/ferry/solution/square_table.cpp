#include "ferry.h"

#include <algorithm>

// How long the cars from i to j are together, for all i and j.
long long crossing(int deck, std::vector<int> cars) {
  std::size_t n = cars.size();
  std::vector<std::vector<long long>> together(n, std::vector<long long>(n + 1));
  for (std::size_t i = 0; i < n; i++)
    for (std::size_t j = i; j < n; j++) together[i][j + 1] = together[i][j] + cars[j];
  std::vector<long long> least(n + 1, 4e18);
  least[n] = 0;
  for (std::size_t i = n; i-- > 0;)
    for (std::size_t j = i + 1; j <= n && together[i][j] <= deck; j++)
      least[i] = std::min(least[i], (deck - together[i][j]) * (deck - together[i][j]) + least[j]);
  return least[0];
}
