#include "lanterns.h"

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <utility>
#include <vector>

// Large inputs are described, not listed: the tests stay small and the time goes into the solution.
static bool read_lanterns(std::vector<int> &b) {
  char kind[16];
  if (std::scanf("%15s", kind) != 1) return false;
  if (std::strcmp(kind, "list") == 0) {
    for (int &x : b)
      if (std::scanf("%d", &x) != 1) return false;
    return true;
  }
  unsigned long long p, q;
  if (std::scanf("%llu %llu", &p, &q) != 2) return false;
  if (std::strcmp(kind, "stairs") == 0) {
    for (std::size_t i = 0; i < b.size(); i++) b[i] = static_cast<int>(p + i / q);
    return true;
  }
  std::uint64_t state = p;
  for (int &x : b) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    x = static_cast<int>((state >> 33) % (q + 1));
  }
  return std::strcmp(kind, "noise") == 0;
}

int main() {
  int n, k;
  if (std::scanf("%d %d", &n, &k) != 2) return 1;
  std::vector<int> b(n);
  if (!read_lanterns(b)) return 1;
  std::printf("%lld\n", festival_glow(std::move(b), k));
  return 0;
}
