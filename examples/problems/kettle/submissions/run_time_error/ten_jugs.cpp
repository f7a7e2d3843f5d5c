#include <array>
#include <cstdio>

int main() {
  int n, wanted;
  if (std::scanf("%d %d", &n, &wanted) != 2) return 1;
  std::array<int, 10> v{}, t{};
  long long litres = 0, heat = 0;
  for (int i = 0; i < n; i++) {
    if (std::scanf("%d %d", &v.at(i), &t.at(i)) != 2) return 1;
    litres += v[i];
    heat += v[i] * (t[i] - wanted);
  }
  return heat == 0 ? std::printf("%lld\n", litres) < 0 : 3;
}
