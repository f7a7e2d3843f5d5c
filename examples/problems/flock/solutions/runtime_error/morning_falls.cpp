#include "flock.h"

#include <stdexcept>

int evening(std::vector<int> flock) {
  int stick = 0;
  for (int number : flock) stick ^= number;
  return stick;
}

int morning(std::vector<int> flock, int stick) {
  if (flock.size() > 999) throw std::runtime_error("so many sheep");
  for (int number : flock) stick ^= number;
  return stick;
}
