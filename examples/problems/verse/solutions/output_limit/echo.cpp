#include <iostream>
#include <string>

int main() {
  std::string line, verse;
  std::getline(std::cin, line);
  std::getline(std::cin, line);
  while (verse.size() < 100000) verse += std::string(line.rbegin(), line.rend()) + '\n';
  while (true) std::cout << verse;
}
