#include <iostream>
#include <iterator>
#include <sstream>
#include <string>

// Exits with 3, as testlib's validators do, unless there are as many positive steps as it says; and, as they
// do on Linux, at a line that ends as Windows has it.
int main() {
    const std::string text{std::istreambuf_iterator<char>(std::cin), {}};
    if (text.find('\r') != std::string::npos) return 3;
    std::istringstream input(text);
    long long n, step, seen = 0;
    if (!(input >> n) || n < 1) return 3;
    while (input >> step) {
        if (step < 1) return 3;
        seen++;
    }
    return seen == n ? 0 : 3;
}
