// The shepherd. manager FROM TO; the score goes to standard output, the text to standard error.
#include <csignal>
#include <cstdio>
#include <cstdlib>

static std::FILE *from, *to;

[[noreturn]] static void verdict(double score, const char *text) {
  std::fprintf(to, "-1\n");
  std::fflush(to);
  std::printf("%g\n", score);
  std::fprintf(stderr, "%s\n", text);
  std::exit(0);
}

static double worth(int questions) { return questions <= 60 ? 1 : questions <= 150 ? 0.6 : questions <= 400 ? 0.2 : 0; }

int main(int argc, char **argv) {
  std::signal(SIGPIPE, SIG_IGN);  // who hangs up is judged by what was said before
  long long n, top, left, right;
  if (argc != 3 || std::scanf("%lld %lld %lld %lld", &n, &top, &left, &right) != 4) return 1;
  // Where these are named pipes, opening waits for the other side, and that one opens what it reads first.
  to = std::fopen(argv[2], "w");
  from = std::fopen(argv[1], "r");
  if (!to || !from) return 1;
  std::fprintf(to, "%lld\n", n);
  std::fflush(to);
  for (int questions = 0;;) {
    char what;
    long long i;
    if (std::fscanf(from, " %c %lld", &what, &i) != 2) verdict(0, "No answer");
    if (what == '!' && i == top) verdict(worth(questions), worth(questions) < 1 ? "translate:partial" : "translate:success");
    if (what == '!') verdict(0, "The cairn stood elsewhere");
    if (what != '?' || i < 1 || i > n) verdict(0, "There is no such stone");
    if (worth(++questions) == 0) verdict(0, "Too many questions");
    long long steps = i < top ? top - i : i - top;
    std::fprintf(to, "%lld\n", 1000000000000000000LL - (i < top ? left : right) * steps * steps);
    std::fflush(to);
  }
}
