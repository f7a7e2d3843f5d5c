#include <fstream>
#include <queue>
#include <vector>
using namespace std;

int r, c;
vector<vector<int>> h;

bool crosses(long long start) {
  if (h[0][0] < start) return false;
  vector<vector<long long>> at(r, vector<long long>(c, -1));
  queue<pair<int, int>> q;
  at[0][0] = start;
  q.push({0, 0});
  const int di[] = {0, 1, 0, -1}, dj[] = {1, 0, -1, 0};
  while (!q.empty()) {
    auto [i, j] = q.front();
    q.pop();
    for (int d = 0; d < 4; d++) {
      int y = i + di[d], x = j + dj[d];
      if (y < 0 || x < 0 || y >= r || x >= c || at[y][x] >= 0 || h[y][x] < at[i][j] + 1) continue;
      at[y][x] = at[i][j] + 1;
      q.push({y, x});
    }
  }
  return at[r - 1][c - 1] >= 0;
}

int main() {
  ifstream in("tide.in");
  ofstream out("tide.out");
  in >> r >> c;
  h.assign(r, vector<int>(c));
  for (auto &row : h)
    for (int &x : row) in >> x;
  long long good = -1, bad = 1000000001;
  while (bad - good > 1) {
    long long middle = (good + bad) / 2;
    (crosses(middle) ? good : bad) = middle;
  }
  out << good << endl;
}
