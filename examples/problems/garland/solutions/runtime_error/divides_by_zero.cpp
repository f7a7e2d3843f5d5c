#include <cstdio>

int main() {
  int q;
  if (scanf("%d", &q) != 1) return 1;
  while (q--) {
    long long n;
    if (scanf("%lld", &n) != 1) return 1;
    volatile long long small = n <= 1000000;
    long long modulus = 1000000007 / small;  // SIGFPE for the long garlands
    long long e = 2, f = 3, g = 8, h = 18;
    for (long long i = 1; i < n; i++) {
      // window (f(i-1), f(i), f(i+1), f(i+2)) moves on by one
      long long next = (h + 2 * g + 2 * f + e) % modulus;
      e = f, f = g, g = h, h = next;
    }
    printf("%lld\n", f);
  }
}
