#include <iostream>

int main() {
  for (std::line line; std::cin >> line;) std::cout << line << '\n';
}
