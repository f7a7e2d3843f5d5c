#include "drums.h"

#include <cstdio>
#include <cstring>

static std::FILE *from, *to;

static bool drummer(int n) {
  std::vector<int> order(n);
  for (int &mask : order)
    if (std::fscanf(from, "%d", &mask) != 1) return false;
  std::string beats = beat(order);
  std::fprintf(to, "%zu %s\n", beats.size(), beats.c_str());
  return true;
}

static bool sister(int n) {
  static char beats[1000];
  int length;
  if (std::fscanf(from, "%d", &length) != 1) return false;
  beats[0] = 0;
  if (length > 0 && std::fscanf(from, "%999s", beats) != 1) return false;
  std::vector<int> order = hear(n, beats);
  std::fprintf(to, "%zu", order.size());
  for (int mask : order) std::fprintf(to, " %d", mask);
  std::fputc('\n', to);
  return true;
}

// stub FROM TO INDEX: the first process is the drummer, the second one his sister. The game ends with a row of 0 masks.
int main(int argc, char **argv) {
  if (argc != 4) return 1;
  from = std::fopen(argv[1], "r");
  to = std::fopen(argv[2], "w");
  if (!from || !to) return 1;
  int n;
  while (std::fscanf(from, "%d", &n) == 1 && n > 0) {
    if (!(std::strcmp(argv[3], "0") == 0 ? drummer(n) : sister(n))) break;
    std::fflush(to);
  }
  return 0;
}
