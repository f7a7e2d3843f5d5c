#include "flock.h"

// A pen for each number there is.
int evening(std::vector<int> flock) {
  int stick = 0;
  std::vector<bool> pens(1 << 30);
  for (int number : flock) pens[number] = true;
  for (int number : flock) stick ^= pens[number] ? number : 0;
  return stick;
}

int morning(std::vector<int> flock, int stick) {
  for (int number : flock) stick ^= number;
  return stick;
}
