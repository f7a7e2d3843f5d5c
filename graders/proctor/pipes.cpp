#include "pipes.hpp"

#include <fcntl.h>

namespace pipes {

Pipe make() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) sys::fail_errno("pipe");
  return {sys::Fd(ends[0]), sys::Fd(ends[1])};
}

std::string path(const sys::Fd& end) { return "/proc/self/fd/" + std::to_string(end.get()); }

}  // namespace pipes
