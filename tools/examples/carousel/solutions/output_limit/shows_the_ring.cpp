#include <iostream>
#include <string>
using namespace std;

// Shows what Ida sees, turn by turn, for every ring that is not small.
int main() {
  ios::sync_with_stdio(false);
  string s;
  cin >> s;
  size_t n = s.size(), turn = 1;
  string twice = s + s;
  for (; turn < n && (n % turn || s.compare(turn, string::npos, s, 0, n - turn)); turn++) {}
  if (n > 2000)
    for (size_t t = 0; t < 100000; t++) cout << twice.substr(t % n, n) << '\n';
  cout << turn << endl;
}
