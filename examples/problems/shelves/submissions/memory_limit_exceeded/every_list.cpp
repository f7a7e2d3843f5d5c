#include <cstdio>
#include <vector>

// For each set of books a whole list of shelves.
int main() {
  int n, width;
  if (std::scanf("%d %d", &n, &width) != 2) return 1;
  std::vector<int> w(n);
  for (int &x : w)
    if (std::scanf("%d", &x) != 1) return 1;
  struct State {
    int shelves = 100, used = 0, shelf[100] = {};
  };
  std::vector<State> best(1 << n);
  best[0].shelves = 0, best[0].used = width;
  for (int s = 0; s < 1 << n; s++)
    for (int i = 0; i < n; i++) {
      if (s >> i & 1) continue;
      int shelves = best[s].shelves, used = best[s].used + w[i];
      if (used > width) shelves++, used = w[i];
      State &next = best[s | 1 << i];
      if (shelves > next.shelves || (shelves == next.shelves && used >= next.used)) continue;
      next = best[s];
      next.shelves = next.shelf[i] = shelves, next.used = used;
    }
  for (int i = 0; i < n; i++) std::printf("%d ", best.back().shelf[i]);
  std::puts("");
}
