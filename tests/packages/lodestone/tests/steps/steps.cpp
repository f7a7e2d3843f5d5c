#include <iostream>
#include <string>

int main() {
    std::string word;
    for (int guess = 1; word != "here"; guess++) {
        std::cout << guess << std::endl;
        if (!(std::cin >> word)) return 0;
    }
}
