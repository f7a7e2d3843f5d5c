#include "flock.h"

int evening(std::vector<int> flock) {
  int stick = 0;
  for (std::size_t i = 0; i <= flock.size(); i++) stick ^= flock.at(i);
  return stick;
}

int morning(std::vector<int> flock, int stick) {
  for (int number : flock) stick ^= number;
  return stick;
}
