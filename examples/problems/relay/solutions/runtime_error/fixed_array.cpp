#include <array>
#include <iostream>
using namespace std;

// Room for 200 runners.
int main() {
  int n, d;
  cin >> n >> d;
  array<int, 200> b{}, len{}, before{};
  int best = 0;
  for (int i = 0; i < n; i++) {
    cin >> b.at(i);
    len[i] = 1, before[i] = -1;
    for (int j = 0; j < i; j++)
      if (b[i] - b[j] >= d && len[j] + 1 > len[i]) len[i] = len[j] + 1, before[i] = j;
    if (len[i] > len[best]) best = i;
  }
  int k = len[best];
  cout << k << endl;
  array<int, 200> places{};
  for (int i = best; i >= 0; i = before[i]) places[--k] = i + 1;
  for (int j = 0; j < len[best]; j++) cout << places[j] << ' ';
  cout << endl;
}
