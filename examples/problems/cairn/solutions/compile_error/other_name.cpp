#include "cairn.h"

int findCairn(int n) {
  return height(n) > 0 ? n : 1;
}
