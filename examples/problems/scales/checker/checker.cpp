// checker INPUT CORRECT OUTPUT MODE, where MODE is batch or outputonly. The score goes to standard output, the text to standard error.
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

static void verdict(double score, const std::string &text) {
  std::cout << score << std::endl;
  std::cerr << text << std::endl;
  std::exit(0);
}

int main(int argc, char **argv) {
  if (argc != 5 || (std::strcmp(argv[4], "batch") != 0 && std::strcmp(argv[4], "outputonly") != 0)) return 1;
  const bool by_file = argv[4][0] == 'o';
  std::ifstream input(argv[1]), output(argv[3]);
  std::size_t n;
  long long wanted, number, sum = 0;
  if (!(input >> n >> wanted)) return 1;
  std::vector<long long> weights(n);
  for (long long &weight : weights)
    if (!(input >> weight)) return 1;
  while (output >> number) {
    if (number < 1 || number > (long long)n) verdict(0, "There is no such weight");
    if (weights[number - 1] == 0) verdict(0, "A weight is chosen twice");
    sum += weights[number - 1];
    weights[number - 1] = 0;
  }
  if (!output.eof()) verdict(0, "The output holds something that is not a number");
  if (sum == wanted) verdict(1, "translate:success");
  if (by_file && sum < wanted && wanted - sum <= wanted / 1000) verdict(0.5, "Not quite as heavy as wanted");
  verdict(0, sum < wanted ? "Too light" : "Too heavy");
}
