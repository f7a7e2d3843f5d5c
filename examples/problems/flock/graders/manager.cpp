#include "flock.h"

#include <cstdio>
#include <cstring>
#include <utility>

static bool read_flock(std::vector<int> &flock) {
  char kind[16];
  if (std::scanf("%15s", kind) != 1) return false;
  if (std::strcmp(kind, "list") == 0) {
    for (int &number : flock)
      if (std::scanf("%d", &number) != 1) return false;
    return true;
  }
  unsigned long long first, factor;
  if (std::strcmp(kind, "noise") != 0 || std::scanf("%llu %llu", &first, &factor) != 2) return false;
  for (std::size_t i = 0; i < flock.size(); i++) flock[i] = static_cast<int>((first + i) * factor % (1 << 30));
  return true;
}

static int before_the_night(std::FILE *to) {
  std::size_t n, gone;
  if (std::scanf("%zu %zu", &n, &gone) != 2) return 1;
  std::vector<int> flock(n);
  if (!read_flock(flock)) return 1;
  std::fprintf(to, "%zu %d\n", n - 1, evening(flock));
  flock.erase(flock.begin() + gone);
  unsigned long long state = n + gone;
  for (std::size_t i = flock.size(); i > 1; i--) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    std::swap(flock[i - 1], flock[(state >> 33) % i]);
  }
  for (int number : flock) std::fprintf(to, "%d\n", number);
  return 0;
}

static int after_the_night(std::FILE *from) {
  std::size_t n;
  int stick;
  if (std::fscanf(from, "%zu %d", &n, &stick) != 2) return 0;  // the evening says why
  std::vector<int> flock(n);
  for (int &number : flock)
    if (std::fscanf(from, "%d", &number) != 1) return 0;
  if (stick < 0 || stick >= 1 << 30) std::puts("bad stick");
  else std::printf("%d\n", morning(std::move(flock), stick));
  return 0;
}

// flock 0 PIPE in the evening, flock 1 PIPE in the morning
int main(int argc, char **argv) {
  if (argc != 3) return 1;
  const bool first = std::strcmp(argv[1], "0") == 0;
  std::FILE *pipe = std::fopen(argv[2], first ? "w" : "r");
  if (!pipe) return 1;
  const int code = first ? before_the_night(pipe) : after_the_night(pipe);
  return std::fclose(pipe) == 0 ? code : 1;
}
