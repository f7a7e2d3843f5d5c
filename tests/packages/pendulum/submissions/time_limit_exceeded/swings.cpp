#include <cstdio>

int main() {
  volatile unsigned swings = 0;
  for (;;) swings = swings + 1;
}
