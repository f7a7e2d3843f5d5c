// Of one letter each phase is within the limit, both together are not.
#include <ctime>

#include "couriers.h"

static std::string slowly(const std::string& text) {
  while (text[0] == 'z' && std::clock() < 0.8 * CLOCKS_PER_SEC) {}
  return text;
}

std::string carry(const std::string& letter) { return slowly(letter); }
std::string deliver(const std::string& carried) { return slowly(carried); }
