#include <iostream>
using namespace std;

// Only the first rule: f(n) = 2 f(n-1) + 2 f(n-2).
const long long P = 1000000007;
struct M { long long a, b, c, d; };
M mul(M x, M y) {
  return {(x.a * y.a + x.b * y.c) % P, (x.a * y.b + x.b * y.d) % P,
          (x.c * y.a + x.d * y.c) % P, (x.c * y.b + x.d * y.d) % P};
}
int main() {
  int q;
  cin >> q;
  while (q--) {
    long long n;
    cin >> n;
    M r{1, 0, 0, 1}, m{2, 2, 1, 0};
    for (n--; n > 0; n >>= 1, m = mul(m, m))
      if (n & 1) r = mul(r, m);
    // f(1) = 3, f(0) = 3/2
    cout << (r.a * 3 + r.b * 3 % P * ((P + 1) / 2)) % P << "\n";
  }
}
