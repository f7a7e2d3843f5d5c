#include <bits/stdc++.h>
using namespace std;

int main() {
    int n = 0;
    char word[32], buf[128];
    double x = 0;
    long long big = 0;
    unsigned flags = 0;
    while (scanf("%31s %d %lf %lld %x", word, &n, &x, &big, &flags) == 5) {
        printf("%-10s|%05d|%8.3f|%+lld|%#x|%e|%g|%c|%%\n", word, n, x, big, flags, x, x, word[0]);
        int length = snprintf(buf, sizeof buf, "%s:%0*d:%.*s", word, 6, n, 2, word);
        fprintf(stderr, "%d %s %zu\n", length, buf, strlen(buf));
        if (sscanf(buf, "%*[^:]:%d", &n) == 1) fputs("again ", stdout), putchar('\n');
    }
    char* end;
    printf("%ld %g %d %s\n", strtol("0x1fz", &end, 16), atof("2.5e3"), atoi("-12"), end);
    strcpy(buf, "a,b;c");
    for (char* p = strtok(buf, ",;"); p; p = strtok(nullptr, ",;")) puts(p);
    int v[] = {4, 2, 9};
    qsort(v, 3, sizeof *v, [](const void* a, const void* b) { return *(const int*)a - *(const int*)b; });
    memmove(v, v + 1, 2 * sizeof *v);
    memset(word, 0, sizeof word);
    printf("%d %d %d %" PRId64 " %d\n", v[0], v[1], memcmp(v, v + 1, 4) != 0, int64_t(7), isalpha('a') != 0);
    for (int c; (c = getchar()) != EOF && c != '\n';) putchar(tolower(c));
    fflush(stdout);
    assert(n >= INT_MIN && errno != EDOM);
    return EXIT_SUCCESS;
}
