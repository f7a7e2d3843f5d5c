// check INPUT OUTPUT ANSWER: two positive numbers whose sum is the number in the input. Uses testlib's exit codes.
#include <cstdio>

#include "limits.h"

static int says(int code, const char* text) {
  std::fprintf(stderr, "%s\n", text);
  return code;
}

int main(int, char** argv) {
  FILE *input = std::fopen(argv[1], "r"), *output = std::fopen(argv[2], "r");
  long long n = 0, a = 0, b = 0;
  if (std::fscanf(input, "%lld", &n) != 1) return says(3, "the input is no number");
  if (std::fscanf(output, "%lld %lld", &a, &b) != 2) return says(2, "wrong output format two numbers expected");
  if (a < least || b < least || a + b != n) return says(1, "wrong answer not two positive parts");
  return says(0, "ok two parts");
}
