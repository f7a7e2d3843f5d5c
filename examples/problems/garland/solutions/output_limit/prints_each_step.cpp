#include <cstdio>

int main() {
  const long long P = 1000000007;
  int q;
  if (scanf("%d", &q) != 1) return 1;
  while (q--) {
    long long n, e = 2, f = 3, g = 8, h = 18;
    if (scanf("%lld", &n) != 1) return 1;
    for (long long i = 1; i < n; i++) {
      long long next = (h + 2 * g + 2 * f + e) % P;
      e = f, f = g, g = h, h = next;
      if (n > 1000000)
        for (int j = 0; j < 64; j++) puts("still here, still counting the beads, one by one, please be patient with me");
    }
    printf("%lld\n", f);
  }
}
