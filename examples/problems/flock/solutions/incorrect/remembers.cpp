#include "flock.h"

#include <set>

static std::set<int> seen;

// Would do if both shepherds were the same.
int evening(std::vector<int> flock) {
  seen.insert(flock.begin(), flock.end());
  return 0;
}

int morning(std::vector<int> flock, int stick) {
  for (int number : flock) seen.erase(number);
  return seen.empty() ? -1 : *seen.begin();
}
