#include <cstdio>

int main() {
  const long long P = 1000000007;
  int q;
  if (scanf("%d", &q) != 1) return 1;
  while (q--) {
    long long n, a1 = 1, a2 = 0, b1 = 1, b2 = 0, c1 = 1, c2 = 0;
    if (scanf("%lld", &n) != 1) return 1;
    for (long long i = 1; i < n; i++) {
      long long na1 = (b1 + b2) % P, nb1 = (a1 + a2 + c1 + c2) % P, nc1 = (a1 + a2 + b1 + b2) % P;
      a2 = a1, b2 = b1, c2 = c1;
      a1 = na1, b1 = nb1, c1 = nc1;
    }
    printf("%lld\n", (a1 + a2 + b1 + b2 + c1 + c2) % P);
  }
}
