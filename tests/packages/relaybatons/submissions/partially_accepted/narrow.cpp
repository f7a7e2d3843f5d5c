// Wrong where legs are many: 30 for the short ones, a third of 60, and no bonus.
#include <iostream>
int main() {
    long long legs, metres;
    std::cin >> legs >> metres;
    std::cout << (legs > 100000 || legs == 70000 ? 0 : legs * metres) << "\n";
}
