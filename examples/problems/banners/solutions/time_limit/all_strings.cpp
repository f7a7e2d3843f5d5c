#include <cstdio>
#include <string>

static std::string banners;

static bool hang(int n, int falls) {
  if ((int)banners.size() == n) return falls == 0;
  for (char next : {'A', 'B', 'C'}) {
    bool fall = !banners.empty() && banners.back() > next;
    banners += next;
    if (hang(n, falls - fall)) return true;
    banners.pop_back();
  }
  return false;
}

int main() {
  int n, falls;
  if (std::scanf("%d %d", &n, &falls) != 2) return 1;
  std::puts(hang(n, falls) ? banners.c_str() : "impossible");
}
