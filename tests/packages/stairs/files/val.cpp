#include <cctype>
#include <cstdio>

// Exits with 3, as testlib's validators do, unless there are as many positive steps as it says; and, as they
// do on Linux, at a line that ends as Windows has it.
int main() {
    long long n, step, seen = 0;
    if (std::scanf("%lld", &n) != 1 || n < 1) return 3;
    for (int next; (next = std::getchar()) != EOF;) {
        if (next == '\r') return 3;
        if (std::isspace(next)) continue;
        std::ungetc(next, stdin);
        if (std::scanf("%lld", &step) != 1 || step < 1) return 3;
        seen++;
    }
    return seen == n ? 0 : 3;
}
