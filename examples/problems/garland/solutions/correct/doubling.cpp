#include <iostream>
#include <map>
#include <vector>
using namespace std;

// f(n)[s][t]: ways from state s to state t by n beads, by halving n.
typedef vector<vector<long long>> Table;
const long long P = 1e9 + 7;
map<long long, Table> known;

const Table &ways(long long n) {
  auto found = known.find(n);
  if (found != known.end()) return found->second;
  Table t(6, vector<long long>(6));
  if (n == 1) {
    const char *allowed[6] = {"011010", "001010", "100110", "100010", "001001", "001000"};
    for (int i = 0; i < 6; i++)
      for (int j = 0; j < 6; j++) t[i][j] = allowed[i][j] == '1';
  } else {
    const Table &x = ways(n / 2), &y = ways(n - n / 2);
    for (int i = 0; i < 6; i++)
      for (int j = 0; j < 6; j++)
        for (int k = 0; k < 6; k++) t[i][j] = (t[i][j] + x[i][k] * y[k][j]) % P;
  }
  return known[n] = t;
}

int main() {
  int q;
  cin >> q;
  for (long long n; q-- && cin >> n;) {
    long long sum = 0;
    if (n == 1) sum = 3;
    else
      for (int s = 0; s < 6; s += 2)
        for (int t = 0; t < 6; t++) sum += ways(n - 1)[s][t];
    cout << sum % P << '\n';
  }
}
