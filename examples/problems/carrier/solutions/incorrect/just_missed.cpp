#include <algorithm>
#include <cstdio>
#include <vector>

int main() {
  int m, q;
  if (std::scanf("%d %d", &m, &q) != 2) return 1;
  std::vector<int> carts(m);
  for (int &cart : carts)
    if (std::scanf("%d", &cart) != 1) return 1;
  std::sort(carts.begin(), carts.end());
  for (int now; q-- && std::scanf("%d", &now) == 1;) {
    auto next = std::upper_bound(carts.begin(), carts.end(), now);
    if (next != carts.end()) std::printf("today %d\n", *next - now);
    else std::printf("tomorrow %d\n", carts[0] + 100000 - now);
  }
}
