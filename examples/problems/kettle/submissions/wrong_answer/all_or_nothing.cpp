#include <cstdio>

int main() {
  int n, wanted;
  if (std::scanf("%d %d", &n, &wanted) != 2) return 1;
  long long litres = 0, heat = 0;
  for (int v, t; n--;) {
    if (std::scanf("%d %d", &v, &t) != 2) return 1;
    litres += v;
    heat += (long long)v * (t - wanted);
  }
  if (heat) std::puts("nothing");
  else std::printf("%lld\n", litres);
}
