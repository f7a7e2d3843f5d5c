#include <iostream>
#include <vector>
using namespace std;

// Forgets that there may be no row.
int main() {
  int n;
  cin >> n;
  vector<int> rest[3];
  for (int i = 0, x; i < n && cin >> x; i++) rest[x % 3].push_back(x);
  bool both = rest[1].size() && rest[2].size();
  size_t keep = both ? 1 : 0, z = 0;
  auto zero = [&](bool wanted) {
    if (wanted && z < rest[0].size()) cout << rest[0][z++] << ' ';
  };
  zero(rest[0].size() > keep);
  for (size_t i = 0; i < rest[1].size(); i++) {
    cout << rest[1][i] << ' ';
    zero(i + 1 == rest[1].size() || z + keep < rest[0].size());
  }
  for (int x : rest[2]) {
    cout << x << ' ';
    zero(true);
  }
  while (z < rest[0].size()) zero(true);
  cout << endl;
}
