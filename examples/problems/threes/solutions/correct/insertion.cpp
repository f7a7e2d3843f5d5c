#include <bits/stdc++.h>
using namespace std;

int main() {
  int n;
  cin >> n;
  vector<int> a(n);
  for (int &x : a) cin >> x;
  // big rests first, so the row ends with the ones
  sort(a.begin(), a.end(), [](int x, int y) { return make_pair(-(x % 3), -x) < make_pair(-(y % 3), -y); });
  list<int> row;
  vector<int> zeros;
  for (int x : a) (x % 3 ? (void)row.push_back(x) : zeros.push_back(x));
  bool ok = true;
  for (auto it = row.begin(); it != row.end() && next(it) != row.end(); ++it)
    if (*it % 3 != *next(it) % 3) {
      if (zeros.empty()) { ok = false; break; }
      it = row.insert(next(it), zeros.back());
      zeros.pop_back();
      break;
    }
  if (ok && !zeros.empty()) {
    row.push_back(zeros.back());
    zeros.pop_back();
  }
  for (auto it = row.begin(); ok && it != row.end() && !zeros.empty(); ++it) {
    if (*it % 3 == 0 || (it != row.begin() && *prev(it) % 3 == 0)) continue;
    row.insert(it, zeros.back());
    zeros.pop_back();
  }
  if (!ok || !zeros.empty()) row.assign(1, -1);
  for (int x : row) cout << x << ' ';
  cout << endl;
}
