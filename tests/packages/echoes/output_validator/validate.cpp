// The first two passes print a string for the next pass; the last pass must print the number.
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <cstring>

typedef char Words[4][64];

static int read_words(FILE* file, Words& words) {
  int count = 0;
  while (file && count < 4 && std::fscanf(file, "%63s", words[count]) == 1) ++count;
  return count;
}

int main(int, char** argv) {
  Words given = {}, answer = {}, passes = {}, said = {};
  char history[4096], next[4096];
  std::sprintf(history, "%s/history.txt", argv[3]);  // files other than nextpass.in stay from pass to pass
  std::sprintf(next, "%s/nextpass.in", argv[3]);
  read_words(std::fopen(argv[1], "r"), given);
  read_words(std::fopen(argv[2], "r"), answer);
  const int pass = read_words(std::fopen(history, "r"), passes);
  const char* orders[] = {"encode", "again", "decode"};
  if (pass > 2 || std::strcmp(given[0], orders[pass]) || std::strcmp(given[1], pass ? passes[pass - 1] : answer[0])) std::abort();
  const bool one = read_words(stdin, said) == 1;
  if (pass == 2) return one && !std::strcmp(said[0], answer[0]) ? 42 : 43;
  for (const char* sign = said[0]; *sign; ++sign) {
    if (!std::isalpha(*sign)) return 43;
  }
  if (!one) return 43;
  std::fprintf(std::fopen(history, "a"), "%s\n", said[0]);
  std::fprintf(std::fopen(next, "w"), "%s %s\n", orders[pass + 1], said[0]);
  return 42;
}
