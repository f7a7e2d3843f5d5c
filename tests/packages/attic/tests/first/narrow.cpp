#include <cstdio>

int main() {
  int n, sum = 0;
  if (std::scanf("%d", &n) != 1) return 1;
  for (long long weight; n-- > 0 && std::scanf("%lld", &weight) == 1;) sum += static_cast<int>(weight);
  std::printf("%d\n", sum);
}
