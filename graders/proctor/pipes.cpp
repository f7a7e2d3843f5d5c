#include "pipes.hpp"

#include <fcntl.h>
#include <poll.h>

namespace pipes {

Pipe make() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) sys::fail_errno("pipe");
  return {sys::Fd(ends[0]), sys::Fd(ends[1])};
}

std::string path(const sys::Fd& end) { return "/proc/self/fd/" + std::to_string(end.get()); }

void drain(const sys::Fd& end, int until) {
  char buffer[1 << 16];
  pollfd both[2] = {{end.get(), POLLIN, 0}, {until, POLLIN, 0}};
  while (poll(both, 2, -1) >= 0 || errno == EINTR) {
    if (both[1].revents != 0) return;
    if (both[0].revents != 0 && read(end.get(), buffer, sizeof buffer) <= 0) both[0].fd = -1;
  }
}

}  // namespace pipes
