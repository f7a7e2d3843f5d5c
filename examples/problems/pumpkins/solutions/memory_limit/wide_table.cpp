#include <iostream>
#include <vector>
using namespace std;

// The usual table, with room for every sum, eight bytes for one bit.
int main() {
  int n;
  cin >> n;
  vector<int> w(n);
  int total = 0;
  for (int &x : w) cin >> x, total += x;
  vector<vector<long long>> dp(n + 1, vector<long long>(total + 1, 0));
  dp[0][0] = 1;
  for (int i = 0; i < n; i++)
    for (int s = 0; s <= total; s++) {
      dp[i + 1][s] = dp[i][s];
      if (s >= w[i] && dp[i][s - w[i]]) dp[i + 1][s] = 1;
    }
  int s = total / 2;
  while (!dp[n][s]) s--;
  string carts(n, 'B');
  for (int i = n; i > 0; i--)
    if (!dp[i - 1][s]) carts[i - 1] = 'A', s -= w[i - 1];
  cout << carts << endl;
}
