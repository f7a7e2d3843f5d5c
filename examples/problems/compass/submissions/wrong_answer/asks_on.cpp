#include <cstdio>

// Does not listen, and goes on asking when nobody is there any more.
int main() {
  for (int x = 2; x <= 1000000000; x++) std::printf("%d %d\n", x, x);
}
