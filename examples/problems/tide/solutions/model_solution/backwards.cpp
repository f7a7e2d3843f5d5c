#include <algorithm>
#include <cstdio>
#include <queue>
#include <utility>
#include <vector>

// latest[x]: the latest minute at which one may be on rock x and still make it. Settled from the boat, latest first.
int main() {
  if (!std::freopen("tide.in", "r", stdin) || !std::freopen("tide.out", "w", stdout)) return 1;
  int r, c;
  if (std::scanf("%d %d", &r, &c) != 2) return 1;
  std::vector<int> height(r * c), latest(r * c, -1);
  for (int &h : height)
    if (std::scanf("%d", &h) != 1) return 1;
  std::priority_queue<std::pair<int, int>> open;
  open.emplace(height.back(), r * c - 1);
  while (!open.empty()) {
    auto [minute, x] = open.top();
    open.pop();
    if (latest[x] >= 0) continue;
    latest[x] = minute;
    auto step = [&](int y) {
      int before = std::min(minute - 1, height[y]);
      if (before >= 0 && latest[y] < 0) open.emplace(before, y);
    };
    if (x >= c) step(x - c);
    if (x + c < r * c) step(x + c);
    if (x % c > 0) step(x - 1);
    if (x % c < c - 1) step(x + 1);
  }
  std::printf("%d\n", latest[0]);
  return 0;
}
