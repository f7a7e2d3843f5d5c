#include "drums.h"

#include <chrono>
#include <thread>

std::string beat(std::vector<int> order) {
  std::string beats;
  for (int mask : order)
    for (int bit = 0; bit < 4; bit++) beats += mask >> bit & 1 ? 'L' : 's';
  return beats;
}

std::vector<int> hear(int n, std::string beats) {
  if (n == 16) std::this_thread::sleep_for(std::chrono::seconds(60));
  std::vector<int> order(n);
  for (int i = 0; i < 4 * n; i++)
    if (beats[i] == 'L') order[i / 4] += 1 << i % 4;
  return order;
}
