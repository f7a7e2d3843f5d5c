#include "flock.h"

int evening(std::vector<int> flock) {
  int stick = 0;
  for (int number : flock) stick ^= number;
  return stick;
}

int noon(std::vector<int> flock, int stick) {
  for (int number : flock) stick ^= number;
  return stick;
}
