#include <algorithm>
#include <fstream>
#include <vector>
using namespace std;

// Thinks that a way back never helps.
int main() {
  ifstream in("tide.in");
  ofstream out("tide.out");
  int r, c;
  in >> r >> c;
  vector<vector<int>> h(r, vector<int>(c));
  for (auto &row : h)
    for (int &x : row) in >> x;
  for (int i = r - 1; i >= 0; i--)
    for (int j = c - 1; j >= 0; j--) {
      int next = -1;
      if (i == r - 1 && j == c - 1) continue;
      if (i + 1 < r) next = max(next, h[i + 1][j]);
      if (j + 1 < c) next = max(next, h[i][j + 1]);
      h[i][j] = max(-1, min(h[i][j], next - 1));
    }
  out << h[0][0] << endl;
}
