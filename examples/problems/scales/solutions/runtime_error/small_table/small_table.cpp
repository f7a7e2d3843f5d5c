#include <cstdio>
#include <vector>

// by.at(s): the weight with which the sum s was reached first. There is room for small sums.
int main() {
  int n;
  long long wanted;
  if (std::scanf("%d %lld", &n, &wanted) != 2) return 1;
  std::vector<int> by(10001, -1), weights(n);
  by[0] = n;
  for (int i = 0; i < n; i++) {
    if (std::scanf("%d", &weights[i]) != 1) return 1;
    for (int s = 10000; s >= weights[i]; s--)
      if (by[s] < 0 && by[s - weights[i]] >= 0) by[s] = i;
  }
  for (; wanted > 0; wanted -= weights.at(by.at(wanted))) std::printf("%d ", by.at(wanted) + 1);
}
