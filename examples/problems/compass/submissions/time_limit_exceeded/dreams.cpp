#include <cstdio>
#include <cstring>

int main() {
  int west = 1, east = 1000000000, south = 1, north = 1000000000;
  for (bool first = true;; first = false) {
    int x = (west + east) / 2, y = (south + north) / 2;
    char word[8];
    std::printf("%d %d\n", x, y);
    std::fflush(stdout);
    if (std::scanf("%7s", word) != 1) return 1;
    if (std::strcmp(word, "found") == 0) return 0;
    if (first && std::strcmp(word, "SE") == 0)
      for (volatile long long wave = 0; wave < 1000000000000; wave = wave + 1) {}
    if (std::strchr(word, 'E')) west = x + 1;
    else if (std::strchr(word, 'W')) east = x - 1;
    else west = east = x;
    if (std::strchr(word, 'N')) south = y + 1;
    else if (std::strchr(word, 'S')) north = y - 1;
    else south = north = y;
  }
}
