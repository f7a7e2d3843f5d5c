#include "streams.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include "files.hpp"

namespace streams {
namespace {

constexpr mode_t unshared_mode = 0600;  // File mode while no program has the file open.

sys::Fd reopen_pipe(const sys::Fd& pipe_fd, int flags) {
  sys::Fd pipe_end(open(pipes::make_fd_path(pipe_fd).c_str(), flags | O_CLOEXEC));
  if (!pipe_end.valid()) sys::fail_errno("cannot open a pipe again");
  return pipe_end;
}

}  // namespace

int SubmissionStreams::get_empty_file(const char* name, size_t index) {
  const int fd = open_reused_file_fd(name, index);
  files::empty_file(fd);
  return fd;
}

int SubmissionStreams::open_reused_file_fd(const char* name, size_t index) {
  sys::Fd& fd = files_[{name, index}];
  if (!fd.valid()) fd = files::make_memory_file(name);
  if (fchmod(fd.get(), unshared_mode) != 0) sys::fail_errno("cannot prepare a memory file");
  return fd.get();
}

// The kernel frees a pipe that no process has open, but the O_PATH descriptor preserves its inode. Opening the inode
// creates a new pipe with the same inode number.
pipes::Pipe SubmissionStreams::get_empty_pipe(const char* name, size_t index) {
  sys::Fd& path_fd = pipes_[{name, index}];
  if (!path_fd.valid()) path_fd = reopen_pipe(pipes::make_pipe().read_end, O_PATH);
  pipes::Pipe pipe;
  pipe.read_end = reopen_pipe(path_fd, O_RDONLY), pipe.write_end = reopen_pipe(path_fd, O_WRONLY);
  files::reset_file_times(pipe.read_end.get());
  return pipe;
}

// Overwrites the copy of the last input, which is faster than freeing its memory and allocating it anew.
sys::Fd SubmissionStreams::copy_input(int input_fd) {
  const int input_copy = open_reused_file_fd("input", 0);
  if (lseek(input_copy, 0, SEEK_SET) != 0) sys::fail_errno("cannot prepare a memory file");
  files::copy_content(input_fd, input_copy);
  if (ftruncate(input_copy, files::read_size_bytes(input_fd)) != 0) sys::fail_errno("cannot prepare a memory file");
  files::reset_file_times(input_copy);
  return files::reopen_read_only(input_copy);
}

void SubmissionStreams::empty_all_files() {
  for (const auto& file : files_) files::empty_file(file.second.get());
}

}  // namespace streams
