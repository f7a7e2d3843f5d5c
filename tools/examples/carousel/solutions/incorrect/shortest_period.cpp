#include <iostream>
#include <string>
#include <vector>
using namespace std;

// The period of a line, not of a ring: "abcab" has 3.
int main() {
  string s;
  cin >> s;
  int n = s.size();
  vector<int> p(n);
  for (int i = 1; i < n; i++) {
    int k = p[i - 1];
    while (k && s[i] != s[k]) k = p[k - 1];
    p[i] = k + (s[i] == s[k]);
  }
  cout << n - p[n - 1] << endl;
}
