#include <algorithm>
#include <cstdio>
#include <vector>

// last[l]: the smallest number that ends a relay of l + 1 runners among those seen so far.
int main() {
  int n, d;
  if (std::scanf("%d %d", &n, &d) != 2) return 1;
  std::vector<int> b(n), last, who, before(n, -1);
  for (int i = 0; i < n; i++) {
    if (std::scanf("%d", &b[i]) != 1) return 1;
    int l = std::upper_bound(last.begin(), last.end(), b[i] - d) - last.begin();
    if (l > 0) before[i] = who[l - 1];
    if (l == (int)last.size()) last.push_back(b[i]), who.push_back(i);
    else if (b[i] < last[l]) last[l] = b[i], who[l] = i;
  }
  std::vector<int> places;
  for (int i = who.back(); i >= 0; i = before[i]) places.push_back(i + 1);
  std::printf("%d\n", (int)places.size());
  for (int k = (int)places.size() - 1; k >= 0; k--) std::printf("%d%c", places[k], k ? ' ' : '\n');
  return 0;
}
