// The files and pipes that a submission has open. Each test gets the same files and pipes, emptied, because a new name,
// time or inode number would distinguish tests.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "pipes.hpp"
#include "sys.hpp"

namespace streams {

// The memory files and pipes of a submission, reused from test to test.
class SubmissionStreams {
 public:
  // Returns an empty file in memory, the same file for the same name and index. No process may have it open.
  int get_empty_file(const char* name, size_t index = 0);

  // Returns an empty pipe with the inode number of the last pipe with this name and index.
  pipes::Pipe get_empty_pipe(const char* name, size_t index = 0);

  // Returns the only copy of an input in memory, to be read from its start.
  sys::Fd copy_input(int input_fd);

  // Frees the memory that the last test used.
  void empty_all_files();

  // Closes the files and pipes, so that the next test gets new files and pipes, because a process of the last test may
  // still be alive.
  void discard_files_and_pipes() { files_.clear(), pipes_.clear(); }

 private:
  using NameAndIndex = std::pair<std::string, size_t>;

  // Returns the file with the content that the last test left in it.
  int open_reused_file_fd(const char* name, size_t index);

  std::map<NameAndIndex, sys::Fd> files_;
  std::map<NameAndIndex, sys::Fd> pipes_;  // O_PATH descriptors, which cannot be read or written
};

}  // namespace streams
