#include "weights.h"

int weight_of(long long i, int p, int q, int m) { return (i * i % m * p + i * q) % m; }
