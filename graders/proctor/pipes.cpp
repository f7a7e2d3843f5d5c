#include "pipes.hpp"

#include <fcntl.h>
#include <poll.h>

namespace pipes {

Pipe make_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) sys::fail_errno("cannot make a pipe");
  return {sys::Fd(ends[0]), sys::Fd(ends[1])};
}

std::string make_fd_path(const sys::Fd& pipe_end) { return "/proc/self/fd/" + std::to_string(pipe_end.get()); }

void discard_output_until(const sys::Fd& read_end, int stop_fd) {
  char buffer[1 << 16];
  pollfd polled[2] = {{read_end.get(), POLLIN, 0}, {stop_fd, POLLIN, 0}};
  while (poll(polled, 2, -1) >= 0 || errno == EINTR) {
    if (polled[1].revents != 0) return;
    if (polled[0].revents != 0 && read(read_end.get(), buffer, sizeof buffer) <= 0) polled[0].fd = -1;
  }
}

}  // namespace pipes
