#include "flock.h"

// The sum is too large a number for the stick, or wraps round.
int evening(std::vector<int> flock) {
  unsigned sum = 0;
  for (int number : flock) sum += number;
  return sum;
}

int morning(std::vector<int> flock, int stick) {
  for (int number : flock) stick -= number;
  return stick;
}
