// The job's files, which are opened once and then hidden from programs; and files in memory.
#pragma once

#include <functional>
#include <string>

#include "sys.hpp"

namespace files {

// Opens a file of the job. A link to /proc/self/fd/N means the inherited descriptor N. Any other file is unlinked
// once it is open, so that no program can open it by its path. Only tests set `unlinks_file` to false.
sys::Fd open_job_file(const std::string& name, bool unlinks_file = true);

// Loads the files of a bundle into memory, replaces the previous bundle, and returns the name of its plan, which is the
// first file.
// `open_job_file` opens each of these files once.
std::string load_bundle_and_find_plan(const std::string& bundle_path);

std::string read_all(int fd, size_t max_bytes);    // reads from the start; fails if the file is larger
std::string read_up_to(int fd, size_t max_bytes);  // reads at most `max_bytes` from the start
std::string read_tail(int fd, size_t max_bytes);   // reads the last `max_bytes`

sys::Fd make_memory_file(const char* name);  // creates an empty file in memory

// Reopens a file for a program that may only write to it, or only read it. A file that it can both write and read is
// memory that no limit counts. The file's mode prevents the program from reopening it through /proc. Only tests set
// `changes_mode` to false.
sys::Fd reopen_write_only(int fd, bool changes_mode = true);
sys::Fd reopen_read_only(int fd);

// Makes a write-only file readable for other programs. Its writer must have exited.
void make_readable(int fd);
int64_t count_allocated_bytes(int fd);  // counts the bytes on disk or in memory, without holes
int64_t read_size_bytes(int fd);

// Sets a file's times to the epoch, so that they are equal in every test.
void reset_file_times(int fd);
void empty_file(int fd);  // removes the content and resets the times

// Returns whether no program has written or truncated the file since `reset_file_times`.
bool was_never_written(int fd);

void copy_content(int source_fd, int target_fd);  // copies the whole file; fails (sys::Failure) on an error

// Returns an unnamed copy of a program. The copy is on the file system of the working folder, in a different folder
// than the original.
sys::Fd copy_to_unnamed_file(const sys::Fd& fd);

// Returns a descriptor with the same content that an unprivileged program can reopen through /proc/self/fd: `fd` itself
// if its mode allows that, else a copy in memory.
sys::Fd make_reopenable(sys::Fd fd);

// Removes everything in a folder except the entries for which `keeps_entry` is true. The folder must not be writable
// for submissions.
void remove_folder_content(
    const std::string& folder,
    const std::function<bool(const std::string&)>& keeps_entry = [](const std::string&) { return false; });

// Marks all descriptors except the standard descriptors close-on-exec, including descriptors inherited from the parent.
void mark_all_close_on_exec();

// Closes all descriptors from `first` to `last`, including both.
void close_fd_range(unsigned first, unsigned last);

}  // namespace files
