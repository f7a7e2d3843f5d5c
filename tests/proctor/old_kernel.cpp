// old_kernel PROGRAM ARGUMENT...: starts a program without the system calls that are newer than Linux 4.19.
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <unistd.h>

int main(int argc, char** argv) {
  const unsigned first_missing = 424;  // all architectures use the same numbers from here on
  sock_filter program[] = {
      {BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, nr)},
      {BPF_JMP | BPF_JGE | BPF_K, 0, 1, first_missing},
      {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | ENOSYS},
      {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW},
  };
  const sock_fprog filter = {sizeof program / sizeof *program, program};
  if (argc < 2 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) {
    std::perror("old_kernel");
    return 2;
  }
  execvp(argv[1], argv + 1);
  std::perror(argv[1]);
  return 2;
}
