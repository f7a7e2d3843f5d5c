#include <cstdio>
#include <string>
#include <iostream>

int main() {
  std::ios::sync_with_stdio(false);
  std::string s;
  std::cin >> s;
  const long long n = s.size();
  for (long long turn = 1; turn <= n; turn++) {
    bool same = true;
    for (long long i = 0; i < n && same; i++) {
      long long j = i + turn;
      if (j >= n) j -= n;
      same = s[i] == s[j];
    }
    if (same) {
      printf("%lld\n", turn);
      return 0;
    }
  }
}
