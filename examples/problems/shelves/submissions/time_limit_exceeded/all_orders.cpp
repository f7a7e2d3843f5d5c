// @EXPECTED_GRADES@ AC TLE
#include <algorithm>
#include <cstdio>
#include <numeric>
#include <vector>

int main() {
  int n, width, fewest = 100;
  if (std::scanf("%d %d", &n, &width) != 2) return 1;
  std::vector<int> w(n), order(n), shelf(n), best;
  for (int &x : w)
    if (std::scanf("%d", &x) != 1) return 1;
  std::iota(order.begin(), order.end(), 0);
  do {
    int last = 0, room = 0;
    for (int i : order) {
      if (room < w[i]) last++, room = width;
      room -= w[i];
      shelf[i] = last;
    }
    if (last < fewest) fewest = last, best = shelf;
  } while (std::next_permutation(order.begin(), order.end()));
  for (int x : best) std::printf("%d ", x);
  std::puts("");
}
