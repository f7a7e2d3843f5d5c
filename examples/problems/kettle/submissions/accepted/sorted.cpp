#include <algorithm>
#include <cstdio>
#include <utility>
#include <vector>

// What is too cold and what is too hot must make up for each other: of the stronger side the mildest water is taken.
static double taken(std::vector<std::pair<int, int>> side, long long heat) {
  double litres = 0;
  std::sort(side.begin(), side.end());
  for (auto [off, volume] : side) {
    long long most = std::min(heat, (long long)off * volume);
    litres += (double)most / off;
    heat -= most;
  }
  return litres;
}

int main() {
  int n, wanted;
  if (std::scanf("%d %d", &n, &wanted) != 2) return 1;
  std::vector<std::pair<int, int>> cold, hot;
  long long missing = 0, spare = 0;
  double litres = 0;
  for (int v, t; n--;) {
    if (std::scanf("%d %d", &v, &t) != 2) return 1;
    if (t == wanted) litres += v;
    else if (t < wanted) cold.push_back({wanted - t, v}), missing += (long long)(wanted - t) * v;
    else hot.push_back({t - wanted, v}), spare += (long long)(t - wanted) * v;
  }
  litres += taken(cold, std::min(missing, spare)) + taken(hot, std::min(missing, spare));
  if (litres == 0) std::puts("nothing");
  else std::printf("%.9f\n", litres);
}
