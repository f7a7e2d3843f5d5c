#include <cstdio>
#include <utility>
#include <vector>

// best[s]: the fewest shelves for the books in s, and how full the last one is at least.
int main() {
  int n, width;
  if (std::scanf("%d %d", &n, &width) != 2) return 1;
  std::vector<int> w(n), shelf(n);
  for (int &x : w)
    if (std::scanf("%d", &x) != 1) return 1;
  std::vector<std::pair<int, int>> best(1 << n, {n + 1, 0});
  std::vector<int> last(1 << n);
  best[0] = {0, width};
  for (int s = 0; s < 1 << n; s++)
    for (int i = 0; i < n; i++) {
      if (s >> i & 1) continue;
      auto next = best[s];
      if (next.second + w[i] <= width) next.second += w[i];
      else next = {next.first + 1, w[i]};
      if (next < best[s | 1 << i]) best[s | 1 << i] = next, last[s | 1 << i] = i;
    }
  for (int s = (1 << n) - 1; s; s ^= 1 << last[s]) shelf[last[s]] = best[s].first;
  for (int x : shelf) std::printf("%d ", x);
  std::puts("");
}
