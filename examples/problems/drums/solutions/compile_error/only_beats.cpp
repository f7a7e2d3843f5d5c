#include "drums.h"

std::string beat(std::vector<int> order) {
  return std::string(order.size(), 's');
}
