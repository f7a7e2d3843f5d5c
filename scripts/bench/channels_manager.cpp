// Gives bits to the first process and hears from the second what it made of them. Says how many were which.
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>

static long long now() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000LL + t.tv_nsec;
}

int main(int argc, char** argv) {
  char kind[64], heard[1 << 16];
  int count, in_turn, slot, numbers[2];
  unsigned seed;
  if (argc < 5 || scanf("%63s %d %d %d %u", kind, &count, &in_turn, &slot, &seed) != 5) return 3;
  FILE *from[2], *to[2];
  for (int i = 0; i < 2; i++) from[i] = fopen(argv[1 + 2 * i], "r"), to[i] = fopen(argv[2 + 2 * i], "w");
  std::string bits;
  for (int i = 0; i < count; i++) bits += rand_r(&seed) >> 8 & 1 ? '1' : '0';
  const std::string nothing(bits.size(), '0');
  for (int i = 0; i < 2; i++)  // first they make themselves ready
    if (fscanf(from[i], "%d", &numbers[i]) != 1) return 4;
  const long long start = now() + (in_turn ? 0 : 20000000);
  fprintf(to[0], "%s %d %lld %d %s\n", kind, numbers[1], start, slot, bits.c_str()), fflush(to[0]);
  if (in_turn && fscanf(from[0], "%*d")) return 5;
  fprintf(to[1], "%s %d %lld %d %s\n", kind, numbers[0], start, slot, nothing.c_str()), fflush(to[1]);
  if (fscanf(from[1], "%65535s", heard) != 1) return 6;
  const double seconds = (now() - start) / 1e9;
  int found[2][2] = {};
  for (int i = 0; i < count; i++) found[bits[i] - '0'][heard[i] == '1']++;
  fprintf(stderr, "%d %d %d %d %.6f\n", found[0][0], found[0][1], found[1][0], found[1][1], seconds);
  puts("1");
}
