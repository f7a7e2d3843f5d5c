#include <cstdio>
int main() {
  FILE *in = std::fopen("input.txt", "r"), *out = std::fopen("output.txt", "w");
  long rows, grapes, sum = 0;
  if (std::fscanf(in, "%ld", &rows) != 1) return 1;
  while (std::fscanf(in, "%ld", &grapes) == 1) sum += grapes;
  std::fprintf(out, "%ld\n", sum);
}
