#include <iostream>
#include <stdexcept>
#include <vector>
using namespace std;

int main() {
  int n, total = 0;
  cin >> n;
  vector<int> w(n);
  for (int &x : w) cin >> x, total += x;
  if (n > 20) throw runtime_error("2^n is too much for me");
  int best = total, chosen = 0;
  for (int mask = 0; mask < 1 << n; mask++) {
    int load = 0;
    for (int i = 0; i < n; i++) load += mask >> i & 1 ? w[i] : 0;
    if (abs(total - 2 * load) < best) best = abs(total - 2 * load), chosen = mask;
  }
  for (int i = 0; i < n; i++) cout << "BA"[chosen >> i & 1];
  cout << endl;
}
