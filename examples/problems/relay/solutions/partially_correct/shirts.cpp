#include <algorithm>
#include <iostream>
#include <vector>
using namespace std;

// Prints the numbers on the shirts, not the places.
int main() {
  int n, d;
  cin >> n >> d;
  vector<int> b(n), len(n, 1), before(n, -1), list;
  for (int &x : b) cin >> x;
  int best = 0;
  for (int i = 0; i < n; i++) {
    for (int j = 0; j < i; j++)
      if (b[j] + d <= b[i] && len[j] >= len[i]) len[i] = len[j] + 1, before[i] = j;
    if (len[i] > len[best]) best = i;
  }
  for (int i = best; i >= 0; i = before[i]) list.push_back(b[i]);
  reverse(list.begin(), list.end());
  cout << list.size() << endl;
  for (int x : list) cout << x << ' ';
  cout << endl;
}
