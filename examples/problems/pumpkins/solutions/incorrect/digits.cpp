#include <iostream>
using namespace std;

// The right idea in the wrong letters.
int main() {
  int n;
  cin >> n;
  for (int i = 0; i < n; i++) cout << i % 2;
  cout << endl;
}
