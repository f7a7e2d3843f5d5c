#include <cstdio>
#include <string>
#include <vector>

// can[k][i][c]: i banners, the first one c, with k falls.
int main() {
  int n, falls;
  if (std::scanf("%d %d", &n, &falls) != 2) return 1;
  std::vector<std::vector<std::string>> can(falls + 1, std::vector<std::string>(n + 1, "..."));
  for (int k = 0; k <= falls; k++)
    for (int i = 1; i <= n; i++)
      for (int c = 0; c < 3; c++) {
        if (i == 1 && k == 0) can[k][i][c] = '!';
        for (int d = 0; d < 3 && i > 1; d++)
          if (k >= (d < c) && can[k - (d < c)][i - 1][d] != '.') can[k][i][c] = (char)('A' + d);
      }
  for (int c = 0; c < 3; c++)
    if (can[falls][n][c] != '.') {
      for (int i = n, k = falls, d; i > 0; i--) {
        std::putchar('A' + c);
        d = can[k][i][c] - 'A';
        k -= d < c && i > 1, c = d;
      }
      return 0;
    }
  std::puts("impossible");
}
