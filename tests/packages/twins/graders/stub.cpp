#include <cstdio>

int encode(int number);
int decode(int number);

int main(int, char** argv) {
    int number = 0;
    if (std::scanf("%d", &number) != 1) return 1;
    std::printf("%d\n", *argv[1] == '0' ? encode(number) : decode(number));
    std::fflush(stdout);
}
