#include <bits/stdc++.h>
using namespace std;

int main() {
  int n;
  cin >> n;
  vector<int> w(n)
  for (int &x : w) cin >> x;
  string carts(n, 'A');
  cout << carts << endl;
}
