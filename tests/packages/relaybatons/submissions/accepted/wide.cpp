#include <cstdio>
int main() {
    long long legs, metres;
    if (std::scanf("%lld %lld", &legs, &metres) != 2) return 1;
    std::printf("%lld\n", legs * metres);
}
