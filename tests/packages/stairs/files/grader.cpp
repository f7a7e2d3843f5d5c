#include <iostream>

#include "stairs.h"

int main() {
    int n;
    std::cin >> n;
    std::vector<long long> steps(n);
    for (auto& step : steps) std::cin >> step;
    std::cout << climb(steps) << std::endl;
}
