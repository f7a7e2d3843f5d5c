#include <cstdio>

int main() {
  int low = 1, high;
  if (std::scanf("%d", &high) != 1) return 1;
  while (low < high) {
    int middle = low + (high - low) / 2;
    char answer[8];
    std::printf("? %d %d\n", low, middle);
    std::fflush(stdout);
    if (std::scanf("%7s", answer) != 1) return 1;
    if (answer[0] == 'y') high = middle;
    else low = middle + 1;
  }
  std::printf("! %d\n", low);
}
