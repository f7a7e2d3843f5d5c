// checker INPUT CORRECT OUTPUT, where OUTPUT is what the manager printed. The score goes to standard output, the text to standard error.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>

static void verdict(double score, const std::string &text) {
  std::cout << score << std::endl;
  std::cerr << text << std::endl;
  std::exit(0);
}

int main(int argc, char **argv) {
  if (argc != 4) return 1;
  std::ifstream input(argv[1]), correct(argv[2]), output(argv[3]);
  long long n, watered, expected, keg, tastings;
  std::string word, text;
  if (!(input >> n >> watered) || !(correct >> expected) || expected != watered) return 1;
  if (!(output >> word >> keg >> word >> tastings) || !std::getline(output >> std::ws, text)) return 1;
  if (keg != watered) verdict(0, keg == 0 ? text : "There is wine in that keg");
  int halvings = 0;
  for (long long left = n; left > 1; left = (left + 1) / 2) halvings++;
  if (tastings <= halvings) verdict(1, "translate:success");
  verdict(tastings * tastings <= 5 * n + 100 ? 0.5 : 0.1, "translate:partial");
}
