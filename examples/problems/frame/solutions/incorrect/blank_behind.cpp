#include <iostream>

int main() {
  int w, h;
  std::cin >> w >> h;
  for (int i = 0; i < h; i++) {
    for (int j = 0; j < w; j++) {
      bool top = i == 0 || i == h - 1, left = j == 0 || j == w - 1;
      std::cout << (top && left ? '+' : top ? '-' : left ? '|' : ' ');
    }
    std::cout << " \n";
  }
}
