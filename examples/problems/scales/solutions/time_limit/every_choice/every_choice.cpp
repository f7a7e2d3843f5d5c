#include <cstdio>

int n, chosen[30];
long long weights[30];

bool choose(int i, int count, long long wanted) {
  if (i == n) {
    if (wanted != 0) return false;
    for (int k = 0; k < count; k++) std::printf("%d ", chosen[k] + 1);
    return true;
  }
  if (choose(i + 1, count, wanted)) return true;
  chosen[count] = i;
  return choose(i + 1, count + 1, wanted - weights[i]);
}

int main() {
  long long wanted;
  if (std::scanf("%d %lld", &n, &wanted) != 2) return 1;
  for (int i = 0; i < n; i++)
    if (std::scanf("%lld", &weights[i]) != 1) return 1;
  choose(0, 0, wanted);
}
