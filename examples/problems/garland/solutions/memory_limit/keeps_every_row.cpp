#include <array>
#include <cstdio>
#include <vector>

int main() {
  const int P = 1000000007;
  int q;
  if (scanf("%d", &q) != 1) return 1;
  std::vector<long long> questions(q);
  for (auto &n : questions)
    if (scanf("%lld", &n) != 1) return 1;
  std::vector<std::array<int, 6>> row(1, {1, 0, 1, 0, 1, 0});
  for (long long n : questions) {
    while ((long long)row.size() < n) {
      auto r = row.back();
      row.push_back({(r[2] + r[3]) % P, r[0], (int)(((long long)r[0] + r[1] + r[4] + r[5]) % P), r[2],
                     (int)(((long long)r[0] + r[1] + r[2] + r[3]) % P), r[4]});
    }
    long long sum = 0;
    for (int x : row[n - 1]) sum += x;
    printf("%lld\n", sum % P);
  }
}
