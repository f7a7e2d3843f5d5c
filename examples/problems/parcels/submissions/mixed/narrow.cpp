// @EXPECTED_GRADES@ AC AC AC
#include <cstdio>
#include <map>

// An int is too narrow where all parcels weigh the same: there is the other half of that group.
int main() {
  long long n, s, p, q, m;
  if (std::scanf("%lld %lld %lld %lld %lld", &n, &s, &p, &q, &m) != 5) return 1;
  std::map<int, int> seen;
  unsigned ways = 0;
  for (long long i = 1; i <= n; i++) {
    int weight = (p * i * i + q * i) % m;
    auto other = seen.find(s - weight);
    if (other != seen.end()) ways += other->second;
    seen[weight]++;
  }
  std::printf("%u\n", ways);
}
