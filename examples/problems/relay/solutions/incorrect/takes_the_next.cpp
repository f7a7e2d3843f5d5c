#include <iostream>
#include <vector>
using namespace std;

// Greedy: gives the baton to the first who may take it.
int main() {
  int n, d, last = -1000000;
  cin >> n >> d;
  vector<int> places;
  for (int i = 1, x; i <= n && cin >> x; i++)
    if (x - last >= d) places.push_back(i), last = x;
  cout << places.size() << endl;
  for (int p : places) cout << p << " ";
  cout << endl;
}
