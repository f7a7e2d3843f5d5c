#include "gradini.h"

#include <iostream>

int main() {
  int steps;
  std::cin >> steps;
  std::cout << ways(steps) << '\n';
}
