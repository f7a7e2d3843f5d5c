#include <cstdio>
#include <vector>

// Numbers that leave 1 and 2 must not touch, nor may two that leave 0. So: all ones, a zero, all twos,
// and the other zeros in the gaps that are left.
int main() {
  int n;
  if (std::scanf("%d", &n) != 1) return 1;
  std::vector<int> by_rest[3];
  for (int i = 0, x; i < n && std::scanf("%d", &x) == 1; i++) by_rest[x % 3].push_back(x);
  auto &zeros = by_rest[0];
  const int ones = by_rest[1].size(), twos = by_rest[2].size(), count = zeros.size();
  const bool both = ones > 0 && twos > 0;
  if (count > ones + twos + 1 || (both && count == 0)) return std::puts("-1"), 0;
  int spare = count - both;  // one is kept for the place between ones and twos
  auto zero = [&] { std::printf("%d ", zeros.back()), zeros.pop_back(); };
  if (spare > 0) zero(), spare--;
  for (int i = 0; i < ones; i++) {
    std::printf("%d ", by_rest[1][i]);
    if (i + 1 == ones && both) zero();
    else if (spare > 0) zero(), spare--;
  }
  for (int x : by_rest[2]) {
    std::printf("%d ", x);
    if (spare > 0) zero(), spare--;
  }
  std::puts("");
  return 0;
}
