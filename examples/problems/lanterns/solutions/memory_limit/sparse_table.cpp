#include "lanterns.h"

#include <algorithm>

long long festival_glow(std::vector<int> b, int k) {
  int n = b.size();
  std::vector<std::vector<long long>> low;
  low.emplace_back(b.begin(), b.end());
  for (int w = 1; 2 * w <= n; w *= 2) {
    const auto &half = low.back();
    std::vector<long long> next(n);
    for (int i = 0; i + 2 * w <= n; i++) next[i] = std::min(half[i], half[i + w]);
    low.push_back(next);
  }
  int level = 31 - __builtin_clz(k);
  long long sum = 0;
  for (int j = 0; j + k <= n; j++) sum += std::min(low[level][j], low[level][j + k - (1 << level)]);
  return sum;
}
