// checker INPUT CORRECT OUTPUT. CORRECT holds the least difference. The score goes to standard output, a text to standard error.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

static void verdict(double score, const char *text) {
  std::printf("%.6f\n", score);
  std::fprintf(stderr, "%s\n", text);
  std::exit(0);
}

static void broken(const char *text) {
  std::fprintf(stderr, "%s\n", text);
  std::exit(1);
}

int main(int argc, char **argv) {
  if (argc != 4) broken("usage: checker input correct output");
  std::ifstream input(argv[1]), correct(argv[2]), output(argv[3]);
  int n = 0, best = 0, total = 0, difference = 0;
  if (!(input >> n) || !(correct >> best)) broken("the test is broken");
  std::vector<int> weights(n);
  for (int &w : weights)
    if (!(input >> w)) broken("the test is broken");

  std::string carts, more;
  output.width(n + 1);  // no more than is needed, however long the word is
  if (!(output >> carts)) verdict(0, "The output is empty");
  if (static_cast<int>(carts.size()) != n) verdict(0, "Not as many letters as pumpkins");
  for (int i = 0; i < n; i++) {
    if (carts[i] != 'A' && carts[i] != 'B') verdict(0, "A letter that is neither A nor B");
    difference += carts[i] == 'A' ? weights[i] : -weights[i];
    total += weights[i];
  }
  output.width(1);
  if (output >> more) verdict(0, "More than one word in the output");
  difference = std::abs(difference);
  if (difference < best) broken("the loads are closer than the expected output says is possible");
  if (difference == best) verdict(1, "translate:success");
  if (difference == total) verdict(0, "translate:wrong");
  verdict(0.8 * (total - difference) / (total - best), "translate:partial");
}
