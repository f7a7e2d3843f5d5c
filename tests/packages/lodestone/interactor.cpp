#include <cstdio>

// The input file contains the hidden number, and the answer file the maximum number of guesses.
int main(int argc, char* argv[]) {
    if (argc != 3) return 3;
    int hidden = 0, allowed = 0, guess = 0;
    if (std::fscanf(std::fopen(argv[2], "r"), "%d", &hidden) != 1) return 3;
    if (std::fscanf(std::fopen(argv[1], "r"), "%d", &allowed) != 1) return 3;
    while (allowed-- > 0 && std::scanf("%d", &guess) == 1) {
        std::puts(guess < hidden ? "north" : guess > hidden ? "south" : "here");
        std::fflush(stdout);
        if (guess == hidden) return 0;
    }
    return 1;
}
