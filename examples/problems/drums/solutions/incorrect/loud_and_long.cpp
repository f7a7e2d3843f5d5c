#include "drums.h"

std::string beat(std::vector<int> order) {
  std::string beats;
  for (int mask : order) beats += std::string(mask, 'L') + std::string(24 - mask, 's');
  return beats;
}

std::vector<int> hear(int n, std::string beats) {
  std::vector<int> order(n);
  for (int i = 0; i < 24 * n; i++) order[i / 24] += beats[i] == 'L';
  return order;
}
