// Speaks by its exit code: 0 right, 1 wrong, 2 not of the agreed form, 3 our own fault, 7 points (on standard error: "points X text"),
// 8 the output ends too early. Called with the input, the output and the expected output, in testlib's own order.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

enum { RIGHT = 0, WRONG = 1, FORM = 2, FAULT = 3, POINTS = 7, EARLY = 8 };

static void quit(int code, const std::string &text) {
  std::fprintf(stderr, "%s\n", text.c_str());
  std::exit(code);
}

static bool is_number(const std::string &word) {
  return !word.empty() && word.size() <= 9 && word.find_first_not_of("0123456789") == std::string::npos;
}

// What is wrong with the list of places; empty if nothing is.
static std::string fault_of(std::ifstream &output, const std::vector<int> &numbers, int length, int least_step) {
  int last = 0;
  std::string word;
  for (int i = 0; i < length; i++) {
    output.width(16);
    if (!(output >> word)) return "the list of places is too short";
    if (!is_number(word)) return "a place that is not a number";
    const int place = std::atoi(word.c_str());
    if (place <= last || place > static_cast<int>(numbers.size())) return "the places are not in order along the track";
    if (last > 0 && numbers[place - 1] - numbers[last - 1] < least_step) return "the baton is given to too small a number";
    last = place;
  }
  output.width(16);
  return output >> word ? "the list of places is too long" : "";
}

int main(int argc, char **argv) {
  if (argc < 4) quit(FAULT, "usage: checker input output expected");
  std::ifstream input(argv[1]), output(argv[2]), expected(argv[3]);
  int n = 0, least_step = 0, best = 0;
  if (!(input >> n >> least_step) || !(expected >> best)) quit(FAULT, "the test cannot be read");
  std::vector<int> numbers(n);
  for (int &x : numbers)
    if (!(input >> x)) quit(FAULT, "the test cannot be read");

  std::string word;
  output.width(16);
  if (!(output >> word)) quit(EARLY, "unexpected end of file: how many runners?");
  if (!is_number(word)) quit(FORM, "wrong output format: how many runners should be a number");
  const int length = std::atoi(word.c_str());
  if (length < best) quit(WRONG, "wrong answer: more runners can hold the baton");
  const std::string fault = fault_of(output, numbers, length, least_step);
  if (length > best && fault.empty()) quit(FAULT, "more runners than the expected output says are possible");
  if (length > best) quit(WRONG, "wrong answer: so many runners cannot hold the baton");
  if (!fault.empty()) quit(POINTS, "points 0.4 the right number, but " + fault);
  quit(RIGHT, "ok");
}
