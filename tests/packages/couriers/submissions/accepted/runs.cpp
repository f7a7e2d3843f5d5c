#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "couriers.h"

void carry(const char* letter, char* said) {
  for (const char *next = letter, *end; *next; next = end) {
    for (end = next; *end == *next; ++end) {}
    said += std::sprintf(said, "%c%d", *next, static_cast<int>(end - next));
  }
}

void deliver(const char* carried, char* said) {
  while (*carried) {
    const char letter = *carried++;
    char* end;
    const long number = std::strtol(carried, &end, 10);
    std::memset(said, letter, number);
    said += number, carried = end;
  }
}
