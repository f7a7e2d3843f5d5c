// Uses up what the runner needs.
#include <sys/wait.h>
#include <unistd.h>

#include "couriers.h"

std::string carry(const std::string& letter) {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  if (child > 0) waitpid(child, nullptr, 0);
  return letter;
}

std::string deliver(const std::string& carried) { return carried; }
