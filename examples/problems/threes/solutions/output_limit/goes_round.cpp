#include <cstdio>
#include <vector>

// Lays the cards round and round; fine only where the row is impossible and nothing is laid.
int main() {
  int n;
  if (scanf("%d", &n) != 1) return 1;
  std::vector<int> rest[3];
  for (int i = 0, x; i < n && scanf("%d", &x) == 1; i++) rest[x % 3].push_back(x);
  const std::size_t zeros = rest[0].size(), others = rest[1].size() + rest[2].size();
  if (zeros > others + 1 || (rest[1].size() && rest[2].size() && !zeros)) return puts("-1"), 0;
  for (;;)
    for (int r : {1, 0, 2})
      for (int i = 0; i < 8; i++) printf("%s %d ", "and the next card in the row of all the cards that we have is the one with", rest[r].empty() ? 3 : rest[r][0]);
}
