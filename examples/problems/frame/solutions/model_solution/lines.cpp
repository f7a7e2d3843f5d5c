#include <cstdio>
#include <string>

int main() {
  int w, h;
  if (std::scanf("%d %d", &w, &h) != 2) return 1;
  const std::string edge = "+" + std::string(w - 2, '-') + "+", side = "|" + std::string(w - 2, ' ') + "|";
  std::puts(edge.c_str());
  for (int i = 2; i < h; i++) std::puts(side.c_str());
  std::puts(edge.c_str());
}
