#include "gradini.h"

long long ways(int steps) { return steps < 2 ? 1 : ways(steps - 1) + ways(steps - 2); }
