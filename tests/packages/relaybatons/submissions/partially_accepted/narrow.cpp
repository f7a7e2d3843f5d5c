// @EXPECTED_SCORE@: 50
#include <iostream>
int main() {
    long long legs, metres;
    std::cin >> legs >> metres;
    std::cout << (legs > 100000 || legs == 70000 ? 0 : legs * metres) << "\n";
}
