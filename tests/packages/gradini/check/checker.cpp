// checker INPUT CORRECT OUTPUT: half of the points for an answer that is right except for its last digit.
#include <cstdio>

int main(int, char** argv) {
  long long expected = 0, got = -1;
  if (std::fscanf(std::fopen(argv[2], "r"), "%lld", &expected) != 1) return 1;
  if (std::fscanf(std::fopen(argv[3], "r"), "%lld", &got) != 1) got = -1;
  const bool right = got == expected, near = got / 10 == expected / 10;
  std::puts(right ? "1.0" : near ? "0.5" : "0.0");
  std::fputs(right ? "translate:success\n" : near ? "translate:partial\n" : "translate:wrong\n", stderr);
}
