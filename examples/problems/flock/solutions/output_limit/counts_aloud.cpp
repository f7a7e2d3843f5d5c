#include "flock.h"

#include <cstdio>

int evening(std::vector<int> flock) {
  return flock.size();
}

int morning(std::vector<int> flock, int stick) {
  while (stick > 0) std::printf("%1000d sheep ...\n", stick);
  return 0;
}
