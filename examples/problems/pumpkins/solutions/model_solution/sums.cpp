#include <bitset>
#include <cstdio>
#include <string>
#include <vector>

const int MOST = 200000;
std::bitset<MOST + 1> reach[101];  // reach[i]: loads of cart A that the first i pumpkins can make

int main() {
  int n, total = 0;
  if (std::scanf("%d", &n) != 1) return 1;
  std::vector<int> w(n);
  reach[0][0] = true;
  for (int i = 0; i < n; i++) {
    if (std::scanf("%d", &w[i]) != 1) return 1;
    total += w[i];
    reach[i + 1] = reach[i] | (reach[i] << w[i]);
  }
  int load = total / 2;
  while (!reach[n][load]) load--;
  std::string carts(n, 'B');
  for (int i = n; i > 0; i--)
    if (!reach[i - 1][load]) carts[i - 1] = 'A', load -= w[i - 1];
  std::puts(carts.c_str());
  return 0;
}
