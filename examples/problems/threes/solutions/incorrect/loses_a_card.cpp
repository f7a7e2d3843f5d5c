#include <iostream>
#include <set>
using namespace std;

// A set: equal cards fall together.
int main() {
  int n, x;
  cin >> n;
  set<int> rest[3];
  while (cin >> x) rest[x % 3].insert(x);
  int ones = rest[1].size(), twos = rest[2].size(), zeros = rest[0].size();
  if (zeros > ones + twos + 1 || (ones && twos && !zeros)) {
    cout << -1 << endl;
    return 0;
  }
  auto z = rest[0].begin();
  int spare = zeros - (ones && twos);
  if (spare > 0) cout << *z++ << ' ', spare--;
  int left = ones;
  for (int y : rest[1]) {
    cout << y << ' ';
    if (--left == 0 && twos) cout << *z++ << ' ';
    else if (spare > 0) cout << *z++ << ' ', spare--;
  }
  for (int y : rest[2]) {
    cout << y << ' ';
    if (spare > 0) cout << *z++ << ' ', spare--;
  }
  cout << endl;
}
