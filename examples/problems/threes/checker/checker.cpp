// Any row will do: compares what was printed with the cards, and looks into the expected output only for "is there one".
// checker INPUT CORRECT OUTPUT; the score goes to standard output, the text to standard error.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

static void verdict(double score, const std::string &text) {
  std::cout << score << std::endl;
  std::cerr << text << std::endl;
  std::exit(0);
}

static void broken(const std::string &text) {
  std::cerr << text << std::endl;
  std::exit(1);
}

// The numbers in a file; a word that is no number of at most ten digits ends it all.
static bool read_numbers(std::istream &in, std::vector<long long> &numbers) {
  std::string word;
  while (in >> word) {
    std::size_t first = word[0] == '-' ? 1 : 0;
    if (word.size() == first || word.size() > 11) return false;
    if (word.find_first_not_of("0123456789", first) != std::string::npos) return false;
    numbers.push_back(std::atoll(word.c_str()));
    if (numbers.size() > 100000) return false;
  }
  return true;
}

int main(int argc, char **argv) {
  if (argc != 4) broken("usage: checker input correct output");
  std::ifstream input(argv[1]), correct(argv[2]), output(argv[3]);
  std::vector<long long> cards, expected, row;
  std::size_t n = 0;
  if (!(input >> n) || !read_numbers(input, cards) || cards.size() != n) broken("the input is broken");
  if (!read_numbers(correct, expected) || expected.empty()) broken("the expected output is broken");
  if (!read_numbers(output, row)) verdict(0, "The output holds something that is not a number");
  if (row.empty()) verdict(0, "The output is empty");

  const bool possible = expected[0] != -1;
  const bool claims_impossible = row.size() == 1 && row[0] == -1;
  if (claims_impossible) {
    if (possible) verdict(0, "There is a row, the output says there is none");
    verdict(1, "translate:success");
  }
  for (std::size_t i = 0; i + 1 < row.size(); i++)
    if ((row[i] + row[i + 1]) % 3 == 0) verdict(0, "The sum of two neighbours is divisible by three");
  std::sort(row.begin(), row.end());
  std::sort(cards.begin(), cards.end());
  if (row != cards) verdict(0, "These are not the cards that Pim has");
  if (!possible) broken("a row was found where the expected output says that there is none");
  verdict(1, "translate:success");
}
