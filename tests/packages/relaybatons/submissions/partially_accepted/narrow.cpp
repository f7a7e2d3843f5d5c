// Wrong if legs are many: 30 points for short races, a third of 60, and no bonus.
#include <cstdio>
int main() {
    long long legs, metres;
    if (std::scanf("%lld %lld", &legs, &metres) != 2) return 1;
    std::printf("%lld\n", legs > 100000 || legs == 70000 ? 0 : legs * metres);
}
