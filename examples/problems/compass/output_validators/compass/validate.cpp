// validate INPUT ANSWER FEEDBACK/ talks to the submission over standard input and output. Exit code 42: found, 43: not.
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iostream>

#include "compass.h"

constexpr int most = 32;

int main(int argc, char **argv) {
  if (argc < 4) return 1;
  std::signal(SIGPIPE, SIG_IGN);
  std::ifstream input(argv[1]);
  std::ofstream message(std::string(argv[3]) + "/judgemessage.txt");
  Place ship, asked;
  if (!(input >> ship.x >> ship.y)) return 1;
  for (int questions = 1; questions <= most; questions++) {
    if (!(std::cin >> asked.x >> asked.y)) {
      message << "no place after " << questions - 1 << " questions" << std::endl;
      return 43;
    }
    if (asked.x < 1 || asked.x > 1000000000 || asked.y < 1 || asked.y > 1000000000) {
      message << "off the map" << std::endl;
      return 43;
    }
    const std::string word = direction(asked, ship);
    std::cout << (word.empty() ? "found" : word) << std::endl;
    if (word.empty()) {
      message << "found with " << questions << " questions" << std::endl;
      return 42;
    }
  }
  message << "not found with " << most << " questions" << std::endl;
  return 43;
}
