#include "streams.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include "files.hpp"

namespace streams {
namespace {

constexpr mode_t ours = 0600;  // until a program gets it

sys::Fd opened(const sys::Fd& place, int how) {
  sys::Fd end(open(pipes::path(place).c_str(), how | O_CLOEXEC));
  if (!end.valid()) sys::fail_errno("cannot open a pipe again");
  return end;
}

}  // namespace

int Streams::file(const char* name, size_t index) {
  const int fd = last(name, index);
  files::empty(fd);
  return fd;
}

int Streams::last(const char* name, size_t index) {
  sys::Fd& fd = files_[{name, index}];
  if (!fd.valid()) fd = files::memory(name);
  if (fchmod(fd.get(), ours) != 0) sys::fail_errno("memory file");
  return fd.get();
}

// A pipe that nobody has open is gone, but its number stays with its place, and who opens that makes another one.
pipes::Pipe Streams::pipe(const char* name, size_t index) {
  sys::Fd& place = pipes_[{name, index}];
  if (!place.valid()) place = opened(pipes::make().read, O_PATH);
  pipes::Pipe pipe;
  pipe.read = opened(place, O_RDONLY), pipe.write = opened(place, O_WRONLY);
  files::reset_times(pipe.read.get());
  return pipe;
}

// Over the last one: to give its memory back and to take new takes longer than to copy.
sys::Fd Streams::copy_of(int input) {
  const int copied = last("input", 0);
  if (lseek(copied, 0, SEEK_SET) != 0) sys::fail_errno("memory file");
  files::copy(input, copied);
  if (ftruncate(copied, files::size(input)) != 0) sys::fail_errno("memory file");
  files::reset_times(copied);
  return files::read_only(copied);
}

void Streams::clear() {
  for (const auto& file : files_) files::empty(file.second.get());
}

}  // namespace streams
