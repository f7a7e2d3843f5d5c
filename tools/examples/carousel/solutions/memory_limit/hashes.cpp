#include <iostream>
#include <string>
#include <vector>
using namespace std;

// Hashes of all prefixes of the ring, twice round, and all powers.
int main() {
  ios::sync_with_stdio(false);
  string s;
  cin >> s;
  const size_t n = s.size();
  s += s;
  vector<unsigned long long> hash(2 * n + 1), power(2 * n + 1, 1);
  for (size_t i = 0; i < 2 * n; i++) {
    hash[i + 1] = hash[i] * 1000003 + s[i];
    power[i + 1] = power[i] * 1000003;
  }
  for (size_t turn = 1; turn <= n; turn++)
    if (hash[turn + n] - hash[turn] * power[n] == hash[n]) {
      cout << turn << endl;
      return 0;
    }
}
