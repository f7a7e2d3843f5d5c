#include "gradini.h"

long long ways(int steps) {
  long long one = 1, next = 1;
  while (--steps > 0) {
    const long long sum = one + next;
    one = next, next = sum;
  }
  return next;
}
