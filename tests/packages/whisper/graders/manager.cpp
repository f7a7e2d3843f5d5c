#include <cstdio>

// The first process halves a number, and the second doubles the result.
int main(int, char **argv) {
    long long number, half, whole;
    if (std::scanf("%lld", &number) != 1) return 1;
    for (int i = 0; i < 2; ++i) {
        FILE *out = std::fopen(argv[2 * i + 2], "w"), *in = std::fopen(argv[2 * i + 1], "r");
        std::fprintf(out, "%lld\n", i ? half : number);
        std::fclose(out);
        if (std::fscanf(in, "%lld", i ? &whole : &half) != 1) whole = half = -1;
        std::fclose(in);
    }
    std::puts(whole == number && half == number / 2 ? "1.0" : "0.0");
    std::fputs("translate:success\n", stderr);
}
