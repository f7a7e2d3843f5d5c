#include <iostream>
#include <vector>
using namespace std;

// Which cards may lie side by side, for every pair of cards.
int main() {
  int n;
  cin >> n;
  vector<long long> a(n);
  for (auto &x : a) cin >> x;
  vector<vector<long long>> sum(n, vector<long long>(n));
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) sum[i][j] = (a[i] + a[j]) % 3;
  vector<int> zeros, ones, twos;
  for (int i = 0; i < n; i++) {
    if (sum[i][i] == 0) zeros.push_back(i);
    if (sum[i][i] == 2) ones.push_back(i);
    if (sum[i][i] == 1) twos.push_back(i);
  }
  if (zeros.size() > ones.size() + twos.size() + 1 || (ones.size() && twos.size() && zeros.empty())) {
    cout << -1 << endl;
    return 0;
  }
  int spare = zeros.size() - (ones.size() && twos.size());
  auto zero = [&] {
    cout << a[zeros.back()] << ' ';
    zeros.pop_back();
  };
  if (spare > 0) zero(), spare--;
  for (size_t i = 0; i < ones.size(); i++) {
    cout << a[ones[i]] << ' ';
    if (i + 1 == ones.size() && twos.size()) zero();
    else if (spare > 0) zero(), spare--;
  }
  for (int i : twos) {
    cout << a[i] << ' ';
    if (spare > 0) zero(), spare--;
  }
  cout << endl;
}
