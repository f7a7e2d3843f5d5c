// manager FROM0 TO0 FROM1 TO1; the score goes to standard output, the text to standard error.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

static std::FILE *from[2], *to[2];

[[noreturn]] static void verdict(double score, const char *text) {
  for (std::FILE *stream : to) std::fprintf(stream, "0\n"), std::fflush(stream);
  std::printf("%g\n", score);
  std::fprintf(stderr, "%s\n", text);
  std::exit(0);
}

// The least number of beats that can tell n! orders apart.
static int enough(int n) {
  long long orders = 1, told = 1;
  for (int i = 2; i <= n; i++) orders *= i;
  int beats = 0;
  while (told < orders) told *= 2, beats++;
  return beats;
}

static double played(int n, const std::vector<int> &order) {
  static char beats[1000];
  std::fprintf(to[0], "%d", n);
  for (int mask : order) std::fprintf(to[0], " %d", mask);
  std::fputc('\n', to[0]);
  std::fflush(to[0]);
  int length, count, mask;
  if (std::fscanf(from[0], "%d", &length) != 1) verdict(0, "The drummer was not heard");
  if (length < 0 || length > 20 * n) verdict(0, "Too many beats");
  beats[0] = 0;
  if (length > 0 && std::fscanf(from[0], "%999s", beats) != 1) verdict(0, "The drummer was not heard");
  if ((int)std::strlen(beats) != length || (int)std::strspn(beats, "Ls") != length) verdict(0, "These are no beats of a drum");
  std::fprintf(to[1], "%d %d %s\n", n, length, beats);
  std::fflush(to[1]);
  if (std::fscanf(from[1], "%d", &count) != 1) verdict(0, "The sister laid nothing");
  if (count != n) verdict(0, "The masks lie in another order");
  for (int expected : order)
    if (std::fscanf(from[1], "%d", &mask) != 1 || mask != expected) verdict(0, "The masks lie in another order");
  return length <= enough(n) ? 1 : length <= 4 * n ? 0.5 : 0.1;
}

int main(int argc, char **argv) {
  std::signal(SIGPIPE, SIG_IGN);  // who hangs up is judged by what was said before
  int rounds, n;
  if (argc != 5 || std::scanf("%d", &rounds) != 1) return 1;
  for (int who = 0; who < 2; who++) {
    // Where these are named pipes, opening waits for the other side, and that one opens what it reads first.
    to[who] = std::fopen(argv[2 + 2 * who], "w");
    from[who] = std::fopen(argv[1 + 2 * who], "r");
    if (!to[who] || !from[who]) return 1;
  }
  double worst = 1;
  while (rounds--) {
    if (std::scanf("%d", &n) != 1) return 1;
    std::vector<int> order(n);
    for (int &mask : order)
      if (std::scanf("%d", &mask) != 1) return 1;
    double worth = played(n, order);
    if (worth < worst) worst = worth;
  }
  verdict(worst, worst < 1 ? "translate:partial" : "translate:success");
}
