// Writes an input, and its answer as errors.
#include <cstdio>
#include <cstdlib>
int main(int count, char** words) {
  if (count < 2) return 1;
  const long n = std::atol(words[1]), m = count > 2 ? std::atol(words[2]) : 1;
  std::printf("%ld %ld\n", n, m);
  std::fprintf(stderr, "%ld\n", n + m);
}
