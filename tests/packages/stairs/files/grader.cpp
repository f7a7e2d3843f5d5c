#include <cstdio>

#include "stairs.h"

int main() {
    int n;
    if (std::scanf("%d", &n) != 1) return 1;
    std::vector<long long> steps(n);
    for (auto& step : steps) {
        if (std::scanf("%lld", &step) != 1) return 1;
    }
    std::printf("%lld\n", static_cast<long long>(climb(steps)));
}
