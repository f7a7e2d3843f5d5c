#include "flock.h"

int evening(std::vector<int> flock) {
  unsigned sum = 0;
  for (int number : flock) sum += number;
  return sum % (1 << 30);
}

int morning(std::vector<int> flock, int stick) {
  return (stick - evening(flock) + (1 << 30)) % (1 << 30);
}
