#include "lanterns.h"

#include <algorithm>

// Cut the street into blocks of K. A window is the tail of one block and the head of the next.
long long festival_glow(std::vector<int> b, int k) {
  int n = b.size();
  std::vector<int> head(b), tail(b);
  for (int i = 1; i < n; i++)
    if (i % k != 0) head[i] = std::min(head[i], head[i - 1]);
  for (int i = n - 2; i >= 0; i--)
    if ((i + 1) % k != 0) tail[i] = std::min(tail[i], tail[i + 1]);
  long long sum = 0;
  for (int j = 0; j + k <= n; j++) sum += std::min(tail[j], head[j + k - 1]);
  return sum;
}
