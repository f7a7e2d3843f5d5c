#include "lanterns.h"

#include <deque>

// The deque holds indices of lanterns that may still be the dimmest of some window, from dim to bright.
long long festival_glow(std::vector<int> b, int k) {
  std::deque<int> candidates;
  long long sum = 0;
  for (int i = 0; i < (int)b.size(); i++) {
    while (!candidates.empty() && b[candidates.back()] >= b[i]) candidates.pop_back();
    candidates.push_back(i);
    if (candidates.front() <= i - k) candidates.pop_front();
    if (i >= k - 1) sum += b[candidates.front()];
  }
  return sum;
}
