#include "ferry.h"

#include <cstdio>
#include <utility>

int main() {
  int n, deck;
  if (std::scanf("%d %d", &n, &deck) != 2) return 1;
  std::vector<int> cars(n);
  for (int &car : cars)
    if (std::scanf("%d", &car) != 1) return 1;
  std::printf("%lld\n", crossing(deck, std::move(cars)));
  return 0;
}
