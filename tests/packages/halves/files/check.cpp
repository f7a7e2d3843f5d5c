// check INPUT OUTPUT ANSWER: two positive numbers whose sum is the one in the input. Speaks testlib's exit codes.
#include <cstdio>
#include <fstream>

#include "limits.h"

static int says(int code, const char* text) {
  std::fprintf(stderr, "%s\n", text);
  return code;
}

int main(int, char** argv) {
  std::ifstream input(argv[1]), output(argv[2]);
  long long n = 0, a = 0, b = 0;
  input >> n;
  if (!(output >> a >> b)) return says(2, "wrong output format two numbers expected");
  if (a < least || b < least || a + b != n) return says(1, "wrong answer not two positive parts");
  return says(0, "ok two parts");
}
