#include <cstdio>
#include <vector>

int main() {
  int n;
  long long wanted;
  if (std::scanf("%d %lld", &n, &wanted) != 2) return 1;
  std::vector<long long> sums = {0};
  for (int i = 0; i < n; i++) {
    long long weight;
    if (std::scanf("%lld", &weight) != 1) return 1;
    std::vector<long long> with = sums;
    for (long long &sum : with) sum += weight;
    sums.insert(sums.end(), with.begin(), with.end());
  }
  for (std::size_t choice = 0; choice < sums.size(); choice++)
    if (sums[choice] == wanted) {
      for (int i = 0; i < n; i++)
        if (choice >> i & 1) std::printf("%d ", i + 1);
      return 0;
    }
}
