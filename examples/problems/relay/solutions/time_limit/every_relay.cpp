#include <cstdio>
#include <vector>

int n, d;
std::vector<int> b, now, best;

void from(int i) {
  if (now.size() > best.size()) best = now;
  for (int j = i + 1; j < n; j++) {
    if (i >= 0 && b[j] - b[i] < d) continue;
    now.push_back(j);
    from(j);
    now.pop_back();
  }
}

int main() {
  if (scanf("%d %d", &n, &d) != 2) return 1;
  b.resize(n);
  for (int &x : b)
    if (scanf("%d", &x) != 1) return 1;
  from(-1);
  printf("%zu\n", best.size());
  for (int i : best) printf("%d ", i + 1);
  puts("");
}
