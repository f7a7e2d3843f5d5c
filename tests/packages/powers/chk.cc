// chk INPUT OUTPUT ANSWER: two numbers above 1 whose product is the one in the input. Speaks testlib's exit codes.
#include <cstdio>
#include <fstream>

int main(int, char** argv) {
  std::ifstream input(argv[1]), output(argv[2]);
  long long n = 0, a = 0, b = 0;
  input >> n;
  if (!(output >> a >> b)) return std::fputs("wrong output format two numbers expected\n", stderr), 2;
  if (a < 2 || b < 2 || a * b != n) return std::fputs("wrong answer another product\n", stderr), 1;
  return std::fputs("ok\n", stderr), 0;
}
