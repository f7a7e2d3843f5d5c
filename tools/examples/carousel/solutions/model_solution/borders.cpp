#include <cstdio>
#include <string>
#include <vector>

// The longest border of the whole string gives its shortest period; a ring needs a period that divides N.
int main() {
  std::string s;
  std::vector<char> piece(1 << 16);
  std::size_t got;
  while ((got = std::fread(piece.data(), 1, piece.size(), stdin)) > 0) s.append(piece.data(), got);
  while (!s.empty() && (s.back() < 'a' || s.back() > 'z')) s.pop_back();
  const int n = s.size();
  std::vector<int> border(n + 1, -1);
  for (int i = 0, k = -1; i < n;) {
    while (k >= 0 && s[i] != s[k]) k = border[k];
    border[++i] = ++k;
  }
  const int period = n - border[n];
  std::printf("%d\n", n % period == 0 ? period : n);
  return 0;
}
