// Pipes between programs that run at the same time.
#pragma once

#include <string>

#include "sys.hpp"

namespace pipes {

struct Pipe {
  sys::Fd read, write;
  void close() { read.reset(), write.reset(); }
};

Pipe make();

// The name under which a program opens a descriptor that it inherits. Opening a pipe by it never blocks, so nobody
// waits for a partner that died before it came.
std::string path(const sys::Fd& end);

// Reads and forgets what comes out of `end` until there is something to read from `until`: who writes is not killed for
// it.
void drain(const sys::Fd& end, int stop_fd);

}  // namespace pipes
