// Measures the coverage of the proctor, with counters in a file that all its processes share.
//
// Sandboxes hide the host's files, and a signal may kill programs in them. So the file stays open under a number that no
// sandbox closes, and is mapped before anything is confined. Build it with clang++, with -fprofile-instr-generate
// -fcoverage-mapping -mllvm -runtime-counter-relocation -Wl,--wrap=syscall. If $WRITE_COUNTED is set, it writes the
// counts to that file for llvm-cov, and exits.
#include <cstdarg>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

extern "C" {
extern intptr_t __llvm_profile_counter_bias;
char* __llvm_profile_begin_counters();
char* __llvm_profile_end_counters();
int __llvm_profile_write_file();
void __llvm_profile_set_filename(const char*);
long __real_syscall(long number, ...);
}

namespace counted {

constexpr int held = 900;
constexpr long close_range = 436;

__attribute__((constructor(101), no_profile_instrument_function)) void begin() {
  char* const counters = __llvm_profile_begin_counters();
  const size_t size = __llvm_profile_end_counters() - counters;
  if (fcntl(held, F_GETFD) < 0) {
    const int file = open(COUNTED, O_RDWR | O_CREAT, 0666);
    if (file < 0 || ftruncate(file, size) != 0 || dup2(file, held) < 0) abort();
    fchmod(file, 0666);  // sandboxes run as other users
    close(file);
  }
  void* const shared = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, held, 0);
  if (shared == MAP_FAILED) abort();
  if (const char* const to = getenv("WRITE_COUNTED")) {
    memcpy(counters, shared, size);
    __llvm_profile_set_filename(to);
    _exit(__llvm_profile_write_file());
  }
  __llvm_profile_counter_bias = static_cast<char*>(shared) - counters;
}

}  // namespace counted

extern "C" __attribute__((no_profile_instrument_function)) long __wrap_syscall(long number, ...) {
  va_list rest;
  va_start(rest, number);
  long with[6];
  for (long& each : with) each = va_arg(rest, long);
  va_end(rest);
  const auto from = static_cast<unsigned>(with[0]), to = static_cast<unsigned>(with[1]);
  if (number != counted::close_range || from > counted::held || to < counted::held)
    return __real_syscall(number, with[0], with[1], with[2], with[3], with[4], with[5]);
  if (from < counted::held) __real_syscall(number, from, counted::held - 1, with[2]);
  return __real_syscall(number, counted::held + 1, to, with[2]);
}
