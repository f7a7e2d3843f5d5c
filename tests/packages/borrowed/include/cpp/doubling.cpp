#include "tools/doubling.h"

long long doubled(long long value) { return value * 2; }
