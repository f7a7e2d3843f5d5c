#include <cstdio>

int main(int, char** argv) {
    long long mine = 0, right = 0;
    if (std::fscanf(std::fopen(argv[3], "r"), "%lld", &right) != 1) return 3;
    if (std::fscanf(std::fopen(argv[2], "r"), "%lld", &mine) != 1) return 2;
    std::fputs(mine == right ? "ok" : "wrong answer", stderr);
    return mine != right;
}
