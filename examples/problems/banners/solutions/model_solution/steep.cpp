#include <cstdio>
#include <string>

// CBACBA... falls as often as can be; once it fell often enough, the last letter is repeated.
int main() {
  int n, falls;
  if (std::scanf("%d %d", &n, &falls) != 2) return 1;
  std::string banners = "C";
  while ((int)banners.size() < n) {
    char last = banners.back();
    if (falls == 0) banners += last;
    else if (last == 'A') banners += 'C';
    else banners += last - 1, falls--;
  }
  std::puts(falls ? "impossible" : banners.c_str());
}
