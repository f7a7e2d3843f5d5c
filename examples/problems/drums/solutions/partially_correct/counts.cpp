#include "drums.h"

std::string beat(std::vector<int> order) {
  std::string beats;
  for (int mask : order) beats += std::string(mask, 'L') + 's';
  return beats;
}

std::vector<int> hear(int n, std::string beats) {
  std::vector<int> order(1);
  for (char c : beats) {
    if (c == 'L') order.back()++;
    else order.push_back(0);
  }
  order.resize(n);
  return order;
}
