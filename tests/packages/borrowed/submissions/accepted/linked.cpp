#include <cstdio>
#include "tools/doubling.h"
int main() {
    long long value;
    if (std::scanf("%lld", &value) != 1) return 1;
    std::printf("%lld\n", static_cast<long long>(doubled(value)));
}
