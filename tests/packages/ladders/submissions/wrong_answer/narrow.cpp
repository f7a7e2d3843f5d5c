// @EXPECTED_SCORE@: 45
#include <iostream>

int main() {
  int n;
  std::cin >> n;
  std::cout << static_cast<int>(static_cast<unsigned>(n) * static_cast<unsigned>(n)) << '\n';
}
