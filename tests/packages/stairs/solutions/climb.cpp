#include "stairs.h"

long long climb(const std::vector<long long>& steps) {
    long long sum = 0;
    for (long long step : steps) sum += step;
    return sum;
}
