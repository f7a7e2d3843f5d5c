#include <algorithm>
#include <iostream>
#include <vector>
using namespace std;

// dp[i][x]: the longest relay among the first i whose last number is at most x, with every layer kept.
int main() {
  int n, d;
  cin >> n >> d;
  vector<int> b(n);
  for (int &x : b) cin >> x;
  int top = *max_element(b.begin(), b.end());
  vector<vector<int>> dp(1, vector<int>(top + 1, 0));
  for (int i = 0; i < n; i++) {
    auto layer = dp.back();
    int here = (b[i] >= d ? layer[b[i] - d] : 0) + 1;
    for (int x = b[i]; x <= top && layer[x] < here; x++) layer[x] = here;
    dp.push_back(layer);
  }
  vector<int> places;
  int x = top;
  for (int i = n; i > 0 && x >= 0; i--)
    if (dp[i][x] != dp[i - 1][x]) places.push_back(i), x = b[i - 1] - d;
  cout << places.size() << endl;
  for (int k = (int)places.size() - 1; k >= 0; k--) cout << places[k] << ' ';
  cout << endl;
}
