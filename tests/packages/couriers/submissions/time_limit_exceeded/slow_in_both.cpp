// For a letter each phase is within the limit, but their sum exceeds it.
#include <cstring>
#include <ctime>

#include "couriers.h"

static void slowly(const char* text, char* said) {
  while (text[0] == 'z' && std::clock() < 0.8 * CLOCKS_PER_SEC) {}
  std::strcpy(said, text);
}

void carry(const char* letter, char* said) { slowly(letter, said); }
void deliver(const char* carried, char* said) { slowly(carried, said); }
