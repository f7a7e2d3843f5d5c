#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>
using namespace std;

int main() {
  int n, total = 0;
  cin >> n;
  vector<int> w(n);
  for (int &x : w) cin >> x, total += x;
  // by[s]: the pumpkin by which the sum s was reached first, always later than those below it
  vector<int> by(total + 1, -1);
  by[0] = n;
  for (int i = 0; i < n; i++)
    for (int s = total; s >= w[i]; s--)
      if (by[s] < 0 && by[s - w[i]] >= 0) by[s] = i;
  int s = total / 2;
  while (by[s] < 0) s--;
  string carts(n, 'A');
  for (; s > 0; s -= w[by[s]]) carts[by[s]] = 'B';
  cout << carts << endl;
}
