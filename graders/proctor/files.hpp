// The job's files: opened once, made secret, shown to nobody by name.
#pragma once

#include <functional>
#include <string>

#include "sys.hpp"

namespace files {

// A descriptor of one of the job's files. A link to /proc/self/fd/N stands for the inherited descriptor N; any other
// file is unlinked once it is open, so that no path leads to it any more.
// `hide` is false where tests leave it its name.
sys::Fd open_secret(const std::string& name, bool hide = true);

std::string read_all(int fd, size_t max_bytes);   // from the start; fails when there is more
std::string read_up_to(int fd, size_t max_bytes);  // from the start; what is more stays unread
std::string read_tail(int fd, size_t max_bytes);

sys::Fd make_memory_file(const char* name);  // an empty file in memory

// The same for a program that shall only write, or only read: what it can write and read again is memory, which nobody
// counts. The file's mode keeps it from opening it anew by a name below /proc.
// `for_good` is false where tests leave it its mode.
sys::Fd reopen_write_only(int fd, bool changes_mode = true);
sys::Fd reopen_read_only(int fd);

// Lets others than its writer, who is dead, open it for reading.
void make_readable(int fd);
int64_t allocated_bytes(int fd);  // bytes that it takes, not counting holes
int64_t size_bytes(int fd);

// Gives a file the times that it has in every test.
void reset_times(int fd);
void truncate(int fd);  // its times, too

// Whether no program has written the file since, or opened it to write anew.
bool is_unwritten(int fd);

void copy(int from, int to);  // all of it, from the start; fails

// The same program without a name and in the folder at hand, where it has no neighbours.
sys::Fd copy_without_name(const sys::Fd& fd);

// A descriptor for the same content that a program without our rights may open again through /proc/self/fd: `fd` itself
// where its mode allows that, a copy in memory otherwise.
sys::Fd reopenable(sys::Fd fd);

// All that lies in a folder that no submission could change, but what `stays` by its name.
void remove_all(const std::string& folder,
    const std::function<bool(const std::string&)>& is_kept = [](const std::string&) { return false; });

// Marks everything above the standard descriptors close-on-exec, whatever the one who started us left open.
void mark_all_close_on_exec();

// Those from the first number to the last.
void close_between(unsigned first, unsigned last);

}  // namespace files
