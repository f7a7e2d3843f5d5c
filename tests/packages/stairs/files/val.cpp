#include <iostream>

// Exits with 3, as testlib's validators do, unless there are as many positive steps as it says.
int main() {
    long long n, step, seen = 0;
    if (!(std::cin >> n) || n < 1) return 3;
    while (std::cin >> step) {
        if (step < 1) return 3;
        seen++;
    }
    return seen == n ? 0 : 3;
}
