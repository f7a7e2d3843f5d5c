#include <cstdio>
#include <vector>

int main() {
  int n;
  if (std::scanf("%d", &n) != 1) return 1;
  std::vector<std::vector<int>> jugs;
  for (int keg = 1; keg <= n; keg++) jugs.push_back(std::vector<int>(4000, keg));
  int low = 1, high = n;
  while (low < high) {
    int middle = jugs[(low + high) / 2 - 1][0];
    char answer[8];
    std::printf("? %d %d\n", low, middle);
    std::fflush(stdout);
    if (std::scanf("%7s", answer) != 1) return 1;
    if (answer[0] == 'y') high = middle;
    else low = middle + 1;
  }
  std::printf("! %d\n", low);
}
