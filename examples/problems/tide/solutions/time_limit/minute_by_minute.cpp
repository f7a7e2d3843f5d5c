#include <fstream>
#include <queue>
#include <vector>
using namespace std;

int r, c;
vector<int> h;

bool crosses(int start) {
  if (h[0] < start) return false;
  vector<int> at(r * c, -1);
  queue<int> q;
  at[0] = start;
  q.push(0);
  while (!q.empty()) {
    int x = q.front();
    q.pop();
    for (int y : {x - c, x + c, x % c ? x - 1 : -1, x % c < c - 1 ? x + 1 : -1})
      if (y >= 0 && y < r * c && at[y] < 0 && h[y] > at[x]) {
        at[y] = at[x] + 1;
        q.push(y);
      }
  }
  return at.back() >= 0;
}

// Tries every minute, latest first.
int main() {
  ifstream in("tide.in");
  ofstream out("tide.out");
  in >> r >> c;
  h.resize(r * c);
  for (int &x : h) in >> x;
  int start = 0;
  while (crosses(start)) start++;
  out << start - 1 << endl;
}
