#define _GNU_SOURCE 1
#include <stdio.h>

int main() {
    int low = 1, high = 100;
    char word[9] = "";
    do {
        int guess = (low + high) / 2;
        printf("%d\n", guess);  // a terminal shows it at once
        if (scanf("%8s", word) != 1) return 1;
        if (word[0] == 'n') low = guess + 1; else high = guess - 1;
    } while (word[0] != 'h');
}
