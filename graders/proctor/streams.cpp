#include "streams.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include "files.hpp"

namespace streams {
namespace {

constexpr mode_t unshared_mode = 0600;  // The mode of a file while no program has it.

sys::Fd reopen_pipe(const sys::Fd& pipe_fd, int flags) {
  sys::Fd end(open(pipes::make_fd_path(pipe_fd).c_str(), flags | O_CLOEXEC));
  if (!end.valid()) sys::fail_errno("cannot open a pipe again");
  return end;
}

}  // namespace

int Streams::file(const char* name, size_t index) {
  const int fd = open_existing_file(name, index);
  files::truncate(fd);
  return fd;
}

int Streams::open_existing_file(const char* name, size_t index) {
  sys::Fd& fd = files_[{name, index}];
  if (!fd.valid()) fd = files::make_memory_file(name);
  if (fchmod(fd.get(), unshared_mode) != 0) sys::fail_errno("cannot prepare a memory file");
  return fd.get();
}

// The kernel frees a pipe that nobody has open, but the O_PATH descriptor keeps its inode. Opening that makes a new
// pipe with the same inode number.
pipes::Pipe Streams::pipe(const char* name, size_t index) {
  sys::Fd& path_fd = pipes_[{name, index}];
  if (!path_fd.valid()) path_fd = reopen_pipe(pipes::make_pipe().read, O_PATH);
  pipes::Pipe pipe;
  pipe.read = reopen_pipe(path_fd, O_RDONLY), pipe.write = reopen_pipe(path_fd, O_WRONLY);
  files::reset_times(pipe.read.get());
  return pipe;
}

// Overwrites the last copy, which is faster than freeing its memory and allocating it anew.
sys::Fd Streams::copy_input(int input) {
  const int input_copy = open_existing_file("input", 0);
  if (lseek(input_copy, 0, SEEK_SET) != 0) sys::fail_errno("cannot prepare a memory file");
  files::copy_content(input, input_copy);
  if (ftruncate(input_copy, files::size_bytes(input)) != 0) sys::fail_errno("cannot prepare a memory file");
  files::reset_times(input_copy);
  return files::reopen_read_only(input_copy);
}

void Streams::truncate_all() {
  for (const auto& file : files_) files::truncate(file.second.get());
}

}  // namespace streams
