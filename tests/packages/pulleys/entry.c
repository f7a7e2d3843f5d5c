#include "pulleys.h"
#include <stdio.h>

#ifndef SIGNATURE_GRADER
#error "compiled without its definition"
#endif

int main() {
    long long load;
    if (scanf("%lld", &load) != 1) return 1;
    printf("%lld\n", pull(load));
    return 0;
}
