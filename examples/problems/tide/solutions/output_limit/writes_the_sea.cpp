#include <fstream>
#include <string>
using namespace std;

// Into the output file: the limit is there as well.
int main() {
  ofstream out("tide.out");
  string wave(1 << 16, '~');
  while (out) out << wave << '\n';
}
