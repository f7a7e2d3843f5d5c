#include <cstdio>

#include "limits.h"

static long long number_in(const char* path) {
    long long number = 0;
    FILE* file = std::fopen(path, "r");
    return file && std::fscanf(file, "%lld", &number) == 1 ? number : 0;
}

// Uses testlib's exit codes: all points for the answer, a few points for a larger number.
int main(int, char** argv) {
    const long long load = number_in(argv[1]), pulled = number_in(argv[2]), right = number_in(argv[3]);
    if (pulled == right) return 0;
    if (pulled < right || pulled > load) return 1;
    std::fprintf(stderr, "points %lld\n", 20 / PARTS);
    return 7;
}
