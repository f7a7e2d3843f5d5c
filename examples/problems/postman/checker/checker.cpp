// checker INPUT CORRECT OUTPUT; CORRECT has the length of the shortest round. The score goes to standard output, the text to standard error.
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

static void verdict(double score, const std::string &text) {
  std::cout << score << std::endl;
  std::cerr << text << std::endl;
  std::exit(0);
}

int main(int argc, char **argv) {
  if (argc != 4) return 1;
  std::ifstream input(argv[1]), correct(argv[2]), output(argv[3]);
  std::size_t n;
  long long shortest, length = 0, box;
  if (!(input >> n) || !(correct >> shortest)) return 1;
  std::vector<std::pair<long long, long long>> places(n);
  for (auto &place : places)
    if (!(input >> place.first >> place.second)) return 1;
  std::vector<std::size_t> round;
  std::vector<bool> emptied(n);
  while (output >> box) {
    if (box < 1 || box > (long long)n) verdict(0, "There is no such letter box");
    if (emptied[box - 1]) verdict(0, "A letter box is there twice");
    emptied[box - 1] = true;
    round.push_back(box - 1);
  }
  if (!output.eof()) verdict(0, "The file holds something that is not a number");
  if (round.size() != n) verdict(0, "A letter box is missing");
  for (std::size_t i = 0; i < n; i++) {
    auto [x, y] = places[round[i]];
    auto [u, v] = places[round[(i + 1) % n]];
    length += std::abs(x - u) + std::abs(y - v);
  }
  if (length < shortest) return 1;  // then the shortest one is not
  if (length == shortest) verdict(1, "translate:success");
  verdict(0.8 * shortest / length, "The round is " + std::to_string(length) + " long, the shortest one " + std::to_string(shortest));
}
