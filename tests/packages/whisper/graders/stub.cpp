#include <cstdio>
#include <cstdlib>
#include "whisper.h"

int main(int, char **argv) {
    FILE *in = std::fopen(argv[1], "r"), *out = std::fopen(argv[2], "w");
    long long number;
    if (std::fscanf(in, "%lld", &number) != 1) return 1;
    std::fprintf(out, "%lld\n", std::atoi(argv[3]) ? loud(number) : soft(number));
    std::fclose(out);
}
