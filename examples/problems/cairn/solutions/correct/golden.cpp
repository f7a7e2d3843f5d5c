#include "cairn.h"

#include <map>

static std::map<int, long long> known;

static long long look(int i, int n) {
  if (i > n) return -i;  // beyond the path it goes on falling
  auto found = known.find(i);
  return found != known.end() ? found->second : known[i] = height(i);
}

// Fibonacci search: each step needs one new height only.
int find_cairn(int n) {
  int a = 1, b = 1, from = 0;
  while (b <= n) b += a, a = b - a;
  for (; b > 2; a = b - a, b -= a) {
    int shorter = b - a;
    if (look(from + shorter, n) < look(from + a, n)) from += shorter;
  }
  return look(from + 1, n) < look(from + 2, n) ? from + 2 : from + 1;
}
