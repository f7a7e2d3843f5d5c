#include <iostream>
#include <stdexcept>
#include <string>
using namespace std;

int main() {
  string s;
  cin >> s;
  if (s.size() > 200000) throw length_error("too many horses");
  for (size_t turn = 1; turn <= s.size(); turn++)
    if (s.compare(turn, string::npos, s, 0, s.size() - turn) == 0 && s.size() % turn == 0) {
      cout << turn << endl;
      return 0;
    }
}
