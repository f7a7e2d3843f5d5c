#include <cstdio>
#include <fstream>

#include "limits.h"

// Speaks by testlib's exit codes: all points for the answer, a few for too much of it.
int main(int, char** argv) {
    long long load = 0, pulled = 0, right = 0;
    std::ifstream(argv[1]) >> load;
    std::ifstream(argv[2]) >> pulled;
    std::ifstream(argv[3]) >> right;
    if (pulled == right) return 0;
    if (pulled < right || pulled > load) return 1;
    std::fprintf(stderr, "points %lld\n", 20 / PARTS);
    return 7;
}
