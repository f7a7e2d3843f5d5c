#include <cstdio>

int main() {
  while ((n := std::getchar()) != EOF) std::putchar(n);
}
