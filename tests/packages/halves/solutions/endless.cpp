#include <iostream>

int main() {
  long long n;
  std::cin >> n;
  volatile long long a = 0;
  for (;;) a = a + 1;
}
