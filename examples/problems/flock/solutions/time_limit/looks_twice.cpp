#include "flock.h"

#include <cstdlib>

// Is there really no number twice?
int evening(std::vector<int> flock) {
  int stick = 0;
  for (int number : flock) {
    int times = 0;
    for (volatile int &other : flock) times += other == number;
    if (times != 1) std::abort();
    stick ^= number;
  }
  return stick;
}

int morning(std::vector<int> flock, int stick) {
  for (int number : flock) stick ^= number;
  return stick;
}
