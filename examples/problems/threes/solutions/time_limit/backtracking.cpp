#include <cstdio>
#include <vector>

int n;
std::vector<int> a, row;
std::vector<char> used;

bool extend() {
  if ((int)row.size() == n) return true;
  for (int i = 0; i < n; i++) {
    if (used[i] || (!row.empty() && (row.back() + a[i]) % 3 == 0)) continue;
    used[i] = 1;
    row.push_back(a[i]);
    if (extend()) return true;
    row.pop_back();
    used[i] = 0;
  }
  return false;
}

int main() {
  if (scanf("%d", &n) != 1) return 1;
  a.resize(n), used.resize(n);
  for (int &x : a)
    if (scanf("%d", &x) != 1) return 1;
  if (!extend()) row.assign(1, -1);
  for (int x : row) printf("%d ", x);
  puts("");
}
