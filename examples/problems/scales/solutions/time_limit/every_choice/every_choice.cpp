#include <cstdio>
#include <vector>

int n;
long long weights[30];

bool choose(int i, std::vector<int> chosen, long long wanted) {
  if (i == n) {
    if (wanted != 0) return false;
    for (int k : chosen) std::printf("%d ", k + 1);
    return true;
  }
  if (choose(i + 1, chosen, wanted)) return true;
  chosen.push_back(i);
  return choose(i + 1, chosen, wanted - weights[i]);
}

int main() {
  long long wanted;
  if (std::scanf("%d %lld", &n, &wanted) != 2) return 1;
  for (int i = 0; i < n; i++)
    if (std::scanf("%lld", &weights[i]) != 1) return 1;
  choose(0, {}, wanted);
}
