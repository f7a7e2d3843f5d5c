#include <iostream>

// Ends before it prints: exit code 8 of the checker.
int main() {
  int n, d;
  std::cin >> n >> d;
  return 0;
}
