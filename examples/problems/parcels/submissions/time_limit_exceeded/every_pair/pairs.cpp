// @EXPECTED_GRADES@ AC TLE TLE
#include <cstdio>
#include <vector>

#include "read.inc"

int main() {
  std::vector<int> weights = read();
  long long ways = 0;
  for (std::size_t i = 0; i < weights.size(); i++)
    for (std::size_t j = 0; j < i; j++)
      if (weights[i] + weights[j] == s) ways++;
  std::printf("%lld\n", ways);
}
