#include <iostream>

int encode(int number);
int decode(int number);

int main(int, char** argv) {
    int number = 0;
    std::cin >> number;
    std::cout << (*argv[1] == '0' ? encode(number) : decode(number)) << std::endl;
}
