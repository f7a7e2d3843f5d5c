// @EXPECTED_GRADES@ AC AC AC
#include <cstdio>
#include <vector>

#include "weights.h"

int main() {
  int n, s, p, q, m;
  if (std::scanf("%d %d %d %d %d", &n, &s, &p, &q, &m) != 5) return 1;
  std::vector<int> seen(m);
  long long ways = 0;
  for (int i = 1; i <= n; i++) {
    int weight = weight_of(i, p, q, m), other = s - weight;
    if (0 <= other && other < m) ways += seen[other];
    seen[weight]++;
  }
  std::printf("%lld\n", ways);
}
