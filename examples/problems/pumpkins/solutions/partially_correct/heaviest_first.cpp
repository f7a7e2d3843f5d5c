#include <algorithm>
#include <iostream>
#include <numeric>
#include <vector>
using namespace std;

// The next heaviest pumpkin goes on the lighter cart: close, seldom the best.
int main() {
  int n;
  cin >> n;
  vector<int> w(n), order(n);
  for (int &x : w) cin >> x;
  iota(order.begin(), order.end(), 0);
  sort(order.begin(), order.end(), [&](int i, int j) { return w[i] > w[j]; });
  int a = 0, b = 0;
  string carts(n, '?');
  for (int i : order) {
    if (a <= b) carts[i] = 'A', a += w[i];
    else carts[i] = 'B', b += w[i];
  }
  cout << carts << '\n';
}
