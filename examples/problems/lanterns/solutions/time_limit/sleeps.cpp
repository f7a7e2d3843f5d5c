#include "lanterns.h"

#include <chrono>
#include <deque>
#include <thread>

// Uses hardly any CPU time; only the wall clock can stop it.
long long festival_glow(std::vector<int> b, int k) {
  if (b.size() == 1999999) std::this_thread::sleep_for(std::chrono::seconds(60));
  std::deque<int> q;
  long long sum = 0;
  for (int i = 0; i < (int)b.size(); i++) {
    while (!q.empty() && b[q.back()] >= b[i]) q.pop_back();
    q.push_back(i);
    if (q.front() <= i - k) q.pop_front();
    if (i >= k - 1) sum += b[q.front()];
  }
  return sum;
}
