// Numbers above 2147483647 are too large for it.
#include <iostream>

int main() {
  int n;
  std::cin >> n;
  std::cout << 1 << ' ' << n - 1 << '\n';
}
