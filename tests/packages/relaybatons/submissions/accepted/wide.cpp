#include <iostream>
int main() {
    long long legs, metres;
    std::cin >> legs >> metres;
    std::cout << legs * metres << "\n";
}
