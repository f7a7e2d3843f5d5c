#include <iostream>
#include <vector>

int main() {
  int n;
  std::cin >> n;
  std::vector<int> ones, twos, zeros;
  for (int i = 0; i < n; i++) {
    int x;
    std::cin >> x;
    if (x % 3 == 0) zeros.push_back(x);
    else if (x % 3 == 1) ones.push_back(x);
    else twos.push_back(x);
  }
  for (size_t i = 0; i <
