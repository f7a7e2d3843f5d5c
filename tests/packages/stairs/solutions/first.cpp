#include "stairs.h"

long long climb(const std::vector<long long>& steps) { return steps[0]; }
