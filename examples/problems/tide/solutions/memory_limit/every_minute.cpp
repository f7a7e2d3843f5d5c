#include <algorithm>
#include <fstream>
#include <vector>
using namespace std;

// A layer of the grid for every minute.
int main() {
  ifstream in("tide.in");
  ofstream out("tide.out");
  int r, c;
  in >> r >> c;
  vector<int> h(r * c);
  for (int &x : h) in >> x;
  vector<vector<int>> layers;
  for (int t = 0; t <= *max_element(h.begin(), h.end()); t++) {
    vector<int> dry(1024, 0);
    dry.resize(max(r * c, 1024));
    for (int x = 0; x < r * c; x++) dry[x] = h[x] >= t;
    layers.push_back(dry);
  }
  for (int t = (int)layers.size() - 1; t >= 0; t--)
    for (int x = 0; x < r * c; x++) {
      if (!layers[t][x] || x == r * c - 1) continue;
      layers[t][x] = 0;
      if (t + 1 == (int)layers.size()) continue;
      for (int y : {x - c, x + c, x % c ? x - 1 : -1, x % c < c - 1 ? x + 1 : -1})
        if (y >= 0 && y < r * c && layers[t + 1][y]) layers[t][x] = 1;
    }
  int start = (int)layers.size() - 1;
  while (start >= 0 && !layers[start][0]) start--;
  out << start << endl;
}
