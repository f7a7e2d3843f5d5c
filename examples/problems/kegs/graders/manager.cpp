// The innkeeper. manager FROM TO --most TASTINGS; standard output goes to the checker, which says what it is worth.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

static std::FILE *to;
static int tastings;

[[noreturn]] static void end(long long keg, const char *text) {
  std::fputs("enough\n", to);
  std::fflush(to);
  std::printf("keg %lld\ntastings %d\n%s\n", keg, tastings, text);
  std::exit(0);
}

int main(int argc, char **argv) {
  std::signal(SIGPIPE, SIG_IGN);  // who hangs up is judged by what was said before
  long long n, watered;
  if (argc != 5 || std::strcmp(argv[3], "--most") != 0 || std::scanf("%lld %lld", &n, &watered) != 2) return 1;
  const int most = std::atoi(argv[4]);
  // Where these are named pipes, opening waits for the other side, and that one opens what it reads first.
  to = std::fopen(argv[2], "w");
  std::FILE *from = std::fopen(argv[1], "r");
  if (!to || !from) return 1;
  std::fprintf(to, "%lld\n", n);
  std::fflush(to);
  while (true) {
    char what;
    long long a, b;
    if (std::fscanf(from, " %c %lld", &what, &a) != 2) end(0, "It left without an answer");
    if (what == '!') end(a, "It named a keg");
    if (what != '?' || std::fscanf(from, "%lld", &b) != 1 || a < 1 || b < a || b > n) end(0, "The innkeeper did not understand");
    if (tastings == most) end(0, "The innkeeper has had enough");
    tastings++;
    std::fputs(a <= watered && watered <= b ? "yes\n" : "no\n", to);
    std::fflush(to);
  }
}
