#include <vector>
int main() {
  std::vector<int> shelf;
  for each (int s in shelf) { s = 1; }
}
