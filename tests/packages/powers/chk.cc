// chk INPUT OUTPUT ANSWER: two numbers above 1 whose product is the one in the input. Speaks testlib's exit codes.
#include <cstdio>

int main(int, char** argv) {
  FILE *input = std::fopen(argv[1], "r"), *output = std::fopen(argv[2], "r");
  long long n = 0, a = 0, b = 0;
  if (std::fscanf(input, "%lld", &n) != 1) return 3;
  if (std::fscanf(output, "%lld %lld", &a, &b) != 2) return std::fputs("wrong output format two numbers expected\n", stderr), 2;
  if (a < 2 || b < 2 || a * b != n) return std::fputs("wrong answer another product\n", stderr), 1;
  return std::fputs("ok\n", stderr), 0;
}
