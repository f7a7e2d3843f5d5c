#include "drums.h"

#include <ctime>

// Neither of the two takes a second, both together do.
static void rest(int n) {
  while (n == 16 && std::clock() < 0.75 * CLOCKS_PER_SEC) {}
}

std::string beat(std::vector<int> order) {
  rest(order.size());
  std::string beats;
  for (int mask : order)
    for (int bit = 0; bit < 4; bit++) beats += mask >> bit & 1 ? 'L' : 's';
  return beats;
}

std::vector<int> hear(int n, std::string beats) {
  rest(n);
  std::vector<int> order(n);
  for (int i = 0; i < 4 * n; i++)
    if (beats[i] == 'L') order[i / 4] += 1 << i % 4;
  return order;
}
