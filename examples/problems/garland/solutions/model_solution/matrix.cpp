#include <array>
#include <cstdio>

// States: last bead (a, b, c) and how many of it there are at the end (1 or 2).
using Matrix = std::array<std::array<long long, 6>, 6>;
const long long MOD = 1000000007;

Matrix times(const Matrix &x, const Matrix &y) {
  Matrix z{};
  for (int i = 0; i < 6; i++)
    for (int k = 0; k < 6; k++)
      for (int j = 0; j < 6; j++) z[i][j] = (z[i][j] + x[i][k] * y[k][j]) % MOD;
  return z;
}

Matrix one_bead() {
  Matrix step{};
  for (int last = 0; last < 3; last++)
    for (int run = 0; run < 2; run++)
      for (int next = 0; next < 3; next++) {
        if (last == 2 && next == 0) continue;
        if (next != last) step[2 * last + run][2 * next] = 1;
        else if (run == 0) step[2 * last][2 * last + 1] = 1;
      }
  return step;
}

int main() {
  int q;
  if (std::scanf("%d", &q) != 1) return 1;
  while (q--) {
    long long n;
    if (std::scanf("%lld", &n) != 1) return 1;
    Matrix power{}, step = one_bead();
    for (int i = 0; i < 6; i++) power[i][i] = 1;
    for (n--; n > 0; n /= 2, step = times(step, step))
      if (n & 1) power = times(power, step);
    long long total = 0;
    for (int first = 0; first < 6; first += 2)
      for (int end = 0; end < 6; end++) total += power[first][end];
    std::printf("%lld\n", total % MOD);
  }
  return 0;
}
