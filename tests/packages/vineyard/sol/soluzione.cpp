#include <fstream>
int main() {
  std::ifstream in("input.txt");
  std::ofstream out("output.txt");
  long rows, grapes, sum = 0;
  for (in >> rows; in >> grapes;) sum += grapes;
  out << sum << "\n";
}
