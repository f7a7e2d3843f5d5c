#include <cctype>
#include <cstdio>

// Exits with 3, like testlib's validators, unless the number of positive steps is as declared; and, like them
// on Linux, at a Windows line break.
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
