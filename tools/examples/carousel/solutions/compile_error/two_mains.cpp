#include <iostream>
#include <string>

int main() {
  std::string s;
  std::cin >> s;
}

int main() {
  std::cout << 1 << std::endl;
}
