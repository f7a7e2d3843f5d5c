// gen N [--step S]: N steps, each S higher than the step before.
#include <cstdio>
#include <cstdlib>
#include <cstring>

int main(int argc, char** argv) {
    const int n = std::atoi(argv[1]);
    const int step = argc == 4 && !std::strcmp(argv[2], "--step") ? std::atoi(argv[3]) : 1;
    std::printf("%d\n", n);
    for (int i = 0; i < n; i++) std::printf("%d%c", 1 + i * step, i + 1 < n ? ' ' : '\n');
}
