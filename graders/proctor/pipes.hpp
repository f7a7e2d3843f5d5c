// Pipes between programs that run at the same time.
#pragma once

#include <string>

#include "sys.hpp"

namespace pipes {

// The descriptors of a pipe.
struct Pipe {
  sys::Fd read_end, write_end;
  void close() { read_end.reset(), write_end.reset(); }
};

// Returns a new pipe.
Pipe make_pipe();

// Returns the path by which a program opens an inherited descriptor. Opening a pipe by this path never blocks, so a
// program does not wait for a partner that died before it opened its end.
std::string make_fd_path(const sys::Fd& pipe_end);

// Reads and discards the data of a pipe until `stop_fd` is readable, so that the writer is not killed by SIGPIPE.
void discard_output_until(const sys::Fd& read_end, int stop_fd);

}  // namespace pipes
