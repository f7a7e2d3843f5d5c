#include <cstring>
#include <iostream>
#include <string>
using namespace std;

// If N/p turns do for a prime p, go on with the shorter ring.
int main() {
  ios::sync_with_stdio(false);
  cin.tie(nullptr);
  string s;
  s.reserve(10000001);
  cin >> s;
  int n = s.size(), turn = n, rest = n;
  auto same = [&](int t) { return memcmp(s.data(), s.data() + t, n - t) == 0; };
  for (int p = 2; rest > 1; p++) {
    if (p * p > rest) p = rest;
    while (rest % p == 0) {
      rest /= p;
      if (same(turn / p)) turn /= p;
    }
  }
  cout << turn << '\n';
}
