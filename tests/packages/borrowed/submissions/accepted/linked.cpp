#include <iostream>
#include "tools/doubling.h"
int main() {
    long long value;
    std::cin >> value;
    std::cout << doubled(value) << "\n";
}
