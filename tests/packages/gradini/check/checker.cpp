// checker INPUT CORRECT OUTPUT: half of the points for an answer that is right but for its last digit.
#include <cstdio>
#include <fstream>

int main(int, char** argv) {
  std::ifstream correct(argv[2]), output(argv[3]);
  long long expected = 0, got = -1;
  correct >> expected;
  output >> got;
  const bool right = got == expected, near = got / 10 == expected / 10;
  std::puts(right ? "1.0" : near ? "0.5" : "0.0");
  std::fputs(right ? "translate:success\n" : near ? "translate:partial\n" : "translate:wrong\n", stderr);
}
