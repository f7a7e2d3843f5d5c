// What a submission has open. Each test finds the same files and pipes, emptied: a name, a time or a number of the
// kernel's would tell one test from another.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "pipes.hpp"
#include "sys.hpp"

namespace streams {

class Streams {
 public:
  // Returns an empty file in memory, the same one for the same name and index. No process may have it open any more.
  int file(const char* name, size_t index = 0);

  // Returns an empty pipe, whose number is that of the last one of this name and index.
  pipes::Pipe pipe(const char* name, size_t index = 0);

  // Returns the one copy in memory of an input, to be read from its start.
  sys::Fd copy_input(int input);

  // Gives the memory back that the last test took.
  void truncate_all();

  // Makes all anew for the next test: a process of the last one may be alive.
  void recreate_all() { files_.clear(), pipes_.clear(); }

 private:
  using Key = std::pair<std::string, size_t>;

  // The file as the last test has left it.
  int existing_file(const char* name, size_t index);

  std::map<Key, sys::Fd> files_;
  std::map<Key, sys::Fd> pipes_;  // only the place of each: nobody can read or write by these
};

}  // namespace streams
