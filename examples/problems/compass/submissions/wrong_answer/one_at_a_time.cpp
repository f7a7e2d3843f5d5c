#include <cstdio>
#include <cstring>

// First the column, then the row: twice as many questions.
int main() {
  int low = 1, high = 1000000000, x = 0;
  char word[8];
  while (true) {
    int middle = (low + high) / 2;
    if (x) std::printf("%d %d\n", x, middle);
    else std::printf("%d 1\n", middle);
    std::fflush(stdout);
    if (std::scanf("%7s", word) != 1 || std::strcmp(word, "found") == 0) return 0;
    if (std::strchr(word, x ? 'N' : 'E')) low = middle + 1;
    else if (std::strchr(word, x ? 'S' : 'W')) high = middle - 1;
    else x = middle, low = 1, high = 1000000000;
  }
}
