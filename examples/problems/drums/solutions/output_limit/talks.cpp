#include "drums.h"

#include <cstdio>

std::string beat(std::vector<int> order) {
  return "L";
}

std::vector<int> hear(int n, std::string beats) {
  while (true) std::fprintf(stderr, "%1000s\n", "what did he say?");
}
