#include <iostream>
#include <vector>
using namespace std;

// An uncaught exception: no vector can have 10^18 elements.
int main() {
  const long long P = 1000000007;
  int q;
  cin >> q;
  while (q--) {
    long long n;
    cin >> n;
    vector<int> f(n + 5);
    f[1] = 3, f[2] = 8, f[3] = 18, f[4] = 42;
    for (long long i = 5; i <= n; i++) f[i] = (f[i - 1] + 2LL * f[i - 2] + 2LL * f[i - 3] + f[i - 4]) % P;
    cout << f[n] << '\n';
  }
}
