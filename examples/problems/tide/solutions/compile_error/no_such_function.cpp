#include <fstream>

int main() {
  std::ifstream in("tide.in");
  std::ofstream out("tide.out");
  out << latest_start(in) << std::endl;
}
