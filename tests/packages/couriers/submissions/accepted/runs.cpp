#include "couriers.h"

std::string carry(const std::string& letter) {
  std::string said;
  for (size_t i = 0, j; i < letter.size(); i = j) {
    for (j = i; j < letter.size() && letter[j] == letter[i]; ++j) {}
    said += letter[i] + std::to_string(j - i);
  }
  return said;
}

std::string deliver(const std::string& carried) {
  std::string said;
  for (size_t i = 0; i < carried.size();) {
    const char letter = carried[i++];
    size_t number = 0;
    while (i < carried.size() && carried[i] >= '0' && carried[i] <= '9') number = number * 10 + (carried[i++] - '0');
    said.append(number, letter);
  }
  return said;
}
