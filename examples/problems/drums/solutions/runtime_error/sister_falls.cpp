#include "drums.h"

std::string beat(std::vector<int> order) {
  return std::string(order.size(), 'L');
}

std::vector<int> hear(int n, std::string beats) {
  std::vector<int> order;
  for (int i = 0; i < n; i++) order.at(i) = i;  // there is nothing yet
  return order;
}
