#include <cstdio>
#include <cstring>

int main() {
    char word[64] = "";
    for (int guess = 1; std::strcmp(word, "here") != 0; guess++) {
        std::printf("%d\n", guess);
        std::fflush(stdout);
        if (std::scanf("%63s", word) != 1) return 0;
    }
}
