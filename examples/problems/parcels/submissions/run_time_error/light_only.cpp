// @EXPECTED_GRADES@ AC AC RTE
#include <array>
#include <cstdio>

// Room for weights below 100 only: so right where all weigh the same, which is the better half of group 2.
int main() {
  long long n, s, p, q, m;
  if (std::scanf("%lld %lld %lld %lld %lld", &n, &s, &p, &q, &m) != 5) return 1;
  std::array<long long, 100> seen{};
  long long ways = 0;
  for (long long i = 1; i <= n; i++) {
    long long weight = (p * i * i + q * i) % m;
    if (0 <= s - weight && s - weight < m) ways += seen.at(s - weight);
    seen.at(weight)++;
  }
  std::printf("%lld\n", ways);
}
