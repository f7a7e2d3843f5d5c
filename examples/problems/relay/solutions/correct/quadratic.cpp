#include <iostream>
#include <vector>
using namespace std;

int main() {
  int n, d;
  cin >> n >> d;
  vector<int> b(n), len(n, 1), next(n, -1);
  for (int &x : b) cin >> x;
  int first = n - 1;
  for (int i = n - 1; i >= 0; i--) {
    for (int j = i + 1; j < n; j++)
      if (b[j] >= b[i] + d && len[j] + 1 > len[i]) len[i] = len[j] + 1, next[i] = j;
    if (len[i] > len[first]) first = i;
  }
  cout << len[first] << '\n';
  for (int i = first; i >= 0; i = next[i]) cout << i + 1 << ' ';
  cout << '\n';
}
