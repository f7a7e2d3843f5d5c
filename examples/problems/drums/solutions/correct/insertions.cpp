#include "drums.h"

#include <algorithm>

// Mask i is put among the masks below i: its place there is a digit below i + 1.
std::string beat(std::vector<int> order) {
  unsigned long long number = 0, orders = 1;
  for (int mask = order.size() - 1; mask > 0; mask--) {
    auto at = std::find(order.begin(), order.end(), mask);
    number = number * (mask + 1) + (at - order.begin());
    orders *= mask + 1;
    order.erase(at);
  }
  std::string beats;
  for (orders--; orders; orders /= 2, number /= 2) beats += number % 2 ? 'L' : 's';
  return beats;
}

std::vector<int> hear(int n, std::string beats) {
  unsigned long long number = 0;
  while (!beats.empty()) number = 2 * number + (beats.back() == 'L'), beats.pop_back();
  std::vector<int> order;
  for (int mask = 0; mask < n; mask++) {
    order.insert(order.begin() + number % (mask + 1), mask);
    number /= mask + 1;
  }
  return order;
}
