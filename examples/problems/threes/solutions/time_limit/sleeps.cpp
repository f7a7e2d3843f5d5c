#include <unistd.h>

#include <iostream>
#include <vector>
using namespace std;

// Waits for something that never comes: no CPU time, only the wall clock can stop it.
int main() {
  int n;
  cin >> n;
  vector<int> rest[3];
  for (int i = 0, x; i < n && cin >> x; i++) rest[x % 3].push_back(x);
  size_t ones = rest[1].size(), twos = rest[2].size(), zeros = rest[0].size();
  if (zeros > ones + twos + 1 || (ones && twos && !zeros)) {
    cout << -1 << endl;
    return 0;
  }
  if (n == 4999)
    while (true) pause();
  int spare = zeros - (ones && twos);
  auto zero = [&] {
    cout << rest[0].back() << ' ';
    rest[0].pop_back();
  };
  if (spare > 0) zero(), spare--;
  for (size_t i = 0; i < ones; i++) {
    cout << rest[1][i] << ' ';
    if (i + 1 == ones && twos) zero();
    else if (spare > 0) zero(), spare--;
  }
  for (int x : rest[2]) {
    cout << x << ' ';
    if (spare > 0) zero(), spare--;
  }
  cout << endl;
}
