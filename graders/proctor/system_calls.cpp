#include "system_calls.hpp"

#include "sys.hpp"

namespace system_calls {
namespace {

#define CALL(name) {static_cast<unsigned>(SYS_##name), #name}
#define YOUNGER(number, name) {number, #name}  // than the headers
#if defined(__x86_64__)
#define X86(name) CALL(name),  // of which other architectures have a general form only
constexpr unsigned nr_rseq = 334;
#elif defined(__aarch64__)
#define X86(name)
constexpr unsigned nr_rseq = 293;
#else
#error "the system calls of this architecture are not known here"
#endif
constexpr unsigned nr_close_range = sys::nr_close_range, nr_clone3 = 435, nr_faccessat2 = 439, nr_futex_waitv = 449;

const std::vector<Line> lines = {
    // --- files ---
    {everybody, Check::none,
     {CALL(read), CALL(write), CALL(readv), CALL(writev), CALL(pread64), CALL(pwrite64), CALL(preadv), CALL(pwritev),
      CALL(lseek), CALL(sendfile), CALL(copy_file_range)},
     "input and output, on what is open"},
    {submission, Check::no_flags,
     {CALL(preadv2), CALL(pwritev2)},
     "the same; a flag of theirs tells what others have read already"},
    {ours, Check::none,
     {CALL(preadv2), CALL(pwritev2), CALL(splice), CALL(tee)},
     "the same; of splice and tee nobody counts the bytes"},
    {everybody, Check::no_emptying_open,
     {X86(open)},
     "files are opened; before Landlock's ABI 3 who may read one could empty it with a flag"},
    {everybody, Check::no_emptying_openat, {CALL(openat)}, "the same"},
    {everybody, Check::none,
     {CALL(close), CALL(dup), CALL(dup3), X86(dup2)},
     "one's own descriptors"},
    {submission, Check::same_descriptors,
     {YOUNGER(nr_close_range, close_range)},
     "the same; threads that had their own would have more of them than the limit allows"},
    {ours, Check::none, {YOUNGER(nr_close_range, close_range)}, "the same"},
    {everybody, Check::none,
     {CALL(fstat), CALL(newfstatat), CALL(faccessat), YOUNGER(nr_faccessat2, faccessat2), CALL(readlinkat),
      CALL(getdents64), CALL(getcwd), CALL(chdir), CALL(fchdir), X86(stat) X86(lstat) X86(access) X86(readlink)
      X86(getdents)},
     "interpreters look for modules; Landlock and mounts say what is there"},
    {submission, Check::not_there,
     {CALL(statx)},
     "when a file was made, and numbers of mounts, which count the programs of the judge: libc does without"},
    {ours, Check::none, {CALL(statx)}, "what interpreters look for"},
    {everybody, Check::none,
     {CALL(ftruncate), CALL(fallocate), CALL(umask)},
     "what is open for writing: one's own output"},
    {submission, Check::not_followed,
     {CALL(fsync), CALL(fdatasync)},
     "its output lies in memory; a flush of the machine's disk, that others wait for, is a word"},
    {ours, Check::none, {CALL(fsync), CALL(fdatasync)}, "what compilers and checkers write"},
    {everybody, Check::not_followed,
     {CALL(fadvise64), CALL(readahead)},
     "advice: followed, it empties and fills what the whole machine shares"},
    {ours, Check::none,
     {CALL(statfs), CALL(fstatfs), CALL(sync_file_range)},
     "how full a file system is, all who write there can tell each other"},
    {ours, Check::none,
     {CALL(mkdirat), CALL(unlinkat), CALL(renameat), CALL(renameat2), CALL(linkat), CALL(symlinkat), CALL(mknodat),
      CALL(fchmod), CALL(fchmodat), CALL(utimensat), X86(mkdir) X86(rmdir) X86(unlink) X86(rename) X86(link)
      X86(symlink) X86(chmod) X86(utime) X86(utimes) X86(mknod)},
     "compilers and checkers make files"},
    {ours, Check::none,
     {CALL(getxattr), CALL(lgetxattr), CALL(fgetxattr), CALL(listxattr), CALL(llistxattr), CALL(flistxattr),
      CALL(flock), CALL(fcntl), CALL(ioctl)},
     "cp, tar and linkers; a submission's locks would be seen by whoever may read the file"},
    {submission, Check::plain_fcntl,
     {CALL(fcntl)},
     "flags and copies of descriptors; locks, leases, seals and sizes of pipes reach beyond the process"},
    {submission, Check::plain_ioctl, {CALL(ioctl)}, "is it a terminal, how much is there to read"},
    {ours, Check::none,
     {CALL(inotify_init1), CALL(inotify_add_watch), CALL(inotify_rm_watch), X86(inotify_init)},
     "build tools watch files; counted per user"},

    // --- memory ---
    {everybody, Check::none, {CALL(brk), CALL(mprotect), CALL(munmap), CALL(mremap), CALL(msync)}, "one's own memory"},
    {everybody, Check::advice,
     {CALL(madvise)},
     "advice on one's own pages; none that empties what others share, and none that merges pages of several"},
    {submission, Check::counted_memory,
     {CALL(mmap)},
     "shared memory without a file leaves the resident set and stays; huge pages are a store of the machine's"},
    {ours, Check::none, {CALL(mmap)}, "memory of what we start"},
    {threads | ours, Check::none, {CALL(mlock), CALL(munlock)}, "Java tries; the limit of 0 refuses it"},

    // --- this process ---
    {everybody, Check::none,
     {CALL(exit), CALL(exit_group), CALL(execve), CALL(execveat), CALL(wait4), CALL(waitid), CALL(restart_syscall)},
     "to start and to end"},
    {everybody, Check::none,
     {CALL(getpid), CALL(getppid), CALL(gettid), CALL(getuid), CALL(geteuid), CALL(getgid), CALL(getegid),
      CALL(getresuid), CALL(getresgid), CALL(getgroups), X86(getpgrp) CALL(uname), CALL(getcpu), CALL(sched_yield),
      CALL(sched_get_priority_max), CALL(sched_get_priority_min)},
     "who and where it is"},
    {submission, Check::own_or_unknown,
     {CALL(getpgid), CALL(getsid), CALL(sched_getaffinity)},
     "of another one they tell whether it is there; libc asks for each thread"},
    {lone | forking, Check::own_or_unknown, {CALL(sched_getparam), CALL(sched_getscheduler)}, "the same"},
    {threads, Check::own_or_usual,
     {CALL(sched_getparam), CALL(sched_getscheduler)},
     "the same; Mono ends where a thread of its own has no priority, so all others have the usual one"},
    {threads | ours, Check::not_followed,
     {CALL(sched_setscheduler)},
     "Mono sets the usual priority of its threads, and says on standard output where it cannot"},
    {ours, Check::none,
     {CALL(getpgid), CALL(getsid), CALL(sched_getaffinity), CALL(sched_getparam), CALL(sched_getscheduler),
      CALL(getpriority), CALL(capget), CALL(sysinfo), CALL(setpgid), CALL(setsid)},
     "shells and build tools; free memory, load and the number of processes are the machine's"},
    {submission, Check::not_there,
     {CALL(set_robust_list)},
     "who ends wakes the one that waits at an address of this list, in another process, too"},
    {ours, Check::none, {CALL(set_robust_list)}, "libc, before main"},
    {everybody, Check::none,
     {CALL(set_tid_address), YOUNGER(nr_rseq, rseq), X86(arch_prctl) CALL(getrandom)},
     "libc, before main"},
    {submission, Check::own_barrier,
     {CALL(membarrier)},
     "runtimes, among their threads; one for all of the machine waits without computing, as if for a disk"},
    {ours, Check::none, {CALL(membarrier)}, "the same"},
    {submission, Check::plain_prctl, {CALL(prctl)}, "names of threads and of memory"},
    {ours, Check::none, {CALL(prctl)}, "what we start sets up more"},
    {everybody, Check::none,
     {CALL(getrlimit), CALL(getrusage), CALL(times)},
     "one's own use, which CPython, Java and Go ask for"},
    {submission, Check::harmless_limits,
     {CALL(setrlimit)},
     "stack, data, addresses, CPU time, files, dumps are counted per process; "
     "what is counted per user tells of others"},
    {submission, Check::own_limits, {CALL(prlimit64)}, "the same, of nobody else"},
    {ours, Check::none, {CALL(setrlimit), CALL(prlimit64)}, "ulimit"},

    // --- signals, time ---
    {everybody, Check::none,
     {CALL(rt_sigprocmask), CALL(rt_sigreturn), CALL(sigaltstack), CALL(rt_sigpending),
      CALL(rt_sigtimedwait), CALL(rt_sigsuspend), X86(pause)},
     "one's own signals"},
    {alone | ours, Check::none, {CALL(rt_sigaction)}, "the same"},
    {forks, Check::not_of_children,
     {CALL(rt_sigaction)},
     "the same; of a child that nobody waits for the kernel forgets what it used"},
    {alone, Check::own_process,
     {CALL(kill), CALL(tkill)},
     "abort() and assert(); Go and Java stop their threads so"},
    {alone, Check::own_thread, {CALL(tgkill)}, "the same"},
    {ours, Check::none,
     {CALL(kill), CALL(tkill), CALL(tgkill), CALL(rt_sigqueueinfo), CALL(rt_tgsigqueueinfo), CALL(signalfd4)},
     "shells; queued signals are counted per user"},
    {everybody, Check::none,
     {CALL(gettimeofday), CALL(nanosleep), CALL(getitimer), CALL(setitimer), X86(time) X86(alarm)},
     "clocks and timers of which each process has a fixed number"},
    {submission, Check::own_clock,
     {CALL(clock_gettime), CALL(clock_getres), CALL(clock_nanosleep)},
     "a clock may be that of a process, and tell how long it has worked"},
    {ours, Check::none,
     {CALL(clock_gettime), CALL(clock_getres), CALL(clock_nanosleep), CALL(timer_create), CALL(timer_settime),
      CALL(timer_gettime), CALL(timer_delete), CALL(timer_getoverrun)},
     "timers are counted per user, as signals to come"},

    // --- threads, waiting ---
    {lone | forking, Check::private_futex,
     {CALL(futex)},
     "locks of one's own; by a file that both may read two programs could talk"},
    {threads, Check::joining_futex,
     {CALL(futex)},
     "waking is for threads of the same process; joining one waits for the kernel to wake"},
    {ours, Check::none, {CALL(futex)}, "what we start may share memory"},
    {submission, Check::not_there, {YOUNGER(nr_futex_waitv, futex_waitv)}, "what it waits for is behind a pointer"},
    {ours, Check::none, {YOUNGER(nr_futex_waitv, futex_waitv)}, "what we start may share memory"},
    {threaded, Check::only_threads,
     {CALL(clone)},
     "threads, which are counted by who watches; with CLONE_VFORK the caller would wait as if for a disk"},
    {forking, Check::only_forks,
     {CALL(clone)},
     "processes, each of which is asked for and counted; none that shares memory, or for which the caller waits as if "
     "for a disk"},
    {forking_threads, Check::threads_or_forks, {CALL(clone)}, "both"},
    {forks, Check::none, {X86(fork)}, "the same as clone"},
    {ours & ~stage, Check::no_namespaces, {CALL(clone)}, "processes, in the namespaces that are there"},
    {ours, Check::none, {X86(fork) X86(vfork)}, "processes"},
    {everybody, Check::not_there,
     {YOUNGER(nr_clone3, clone3)},
     "its flags are behind a pointer, where no filter sees them"},
    {everybody, Check::none, {CALL(pselect6), CALL(ppoll), X86(select) X86(poll)}, "to wait for input"},
    {threads | forking | ours, Check::none,
     {CALL(pipe2), X86(pipe)},
     "runtimes wake their threads, processes talk; pages of pipes are counted per user, inodes per machine"},
    {threads | ours, Check::none,
     {CALL(epoll_create1), CALL(epoll_ctl), CALL(epoll_pwait), CALL(eventfd2), CALL(timerfd_create),
      CALL(timerfd_settime), CALL(timerfd_gettime), X86(epoll_create) X86(epoll_wait) X86(eventfd)},
     "runtimes wake their threads; watches are counted per user, inodes per machine"},
    {threads, Check::unix_pair,
     {CALL(socketpair)},
     "two ends in one process, and no call to hand one on: Java's channels want a pair before they read a file"},
    {threads, Check::as_written,
     {CALL(sendto), CALL(recvfrom)},
     "to such a pair: Python's asyncio wakes its loop so when a thread has ended"},
    {ours, Check::none,
     {CALL(socketpair), CALL(recvmsg), CALL(sendmsg), CALL(recvfrom), CALL(sendto), CALL(shutdown), CALL(getpeername),
      CALL(getsockname)},
     "build tools talk to their own processes; there is no call for a socket that leads elsewhere"},

    // --- what a proctor needs to make boxes within a box ---
    {stages, Check::none,
     {CALL(seccomp), CALL(capset), CALL(setresuid), CALL(setresgid), CALL(setuid), CALL(setgid), CALL(setgroups),
      CALL(memfd_create), CALL(fchown), CALL(fchownat), X86(chown) YOUNGER(sys::nr_landlock_create_ruleset,
      landlock_create_ruleset), YOUNGER(sys::nr_landlock_add_rule, landlock_add_rule),
      YOUNGER(sys::nr_landlock_restrict_self, landlock_restrict_self)},
     "a proctor makes boxes within a box"},
    {stage, Check::none,
     {CALL(clone), CALL(unshare), CALL(mount), CALL(umount2), CALL(pivot_root), YOUNGER(sys::nr_mount_setattr,
      mount_setattr)},
     "the same, where users may make namespaces"},
};

const char* words(Check check) {
  switch (check) {
    case Check::none: return "";
    case Check::not_followed: return "succeeds, and does nothing";
    case Check::not_there: return "ENOSYS";
    case Check::own_process: case Check::own_thread: return "on itself, not SIGKILL";
    case Check::own_or_unknown: return "on itself, ENOSYS for others";
    case Check::own_or_usual: return "on itself, 0 for others";
    case Check::own_clock: return "a clock of all, or its own";
    case Check::no_emptying_open: case Check::no_emptying_openat: return "not O_TRUNC for reading";
    case Check::harmless_limits: return "FSIZE, DATA, STACK, CORE, RSS, NOFILE, AS; CPU does nothing";
    case Check::own_limits: return "its own; sets FSIZE, DATA, STACK, CORE, RSS, NOFILE, AS; CPU does nothing";
    case Check::private_futex: return "private ones";
    case Check::joining_futex: return "private ones; others to wait for";
    case Check::counted_memory: return "not shared without a file, not huge";
    case Check::advice: return "not COLD, PAGEOUT, REMOVE, MERGEABLE, nor unknown ones";
    case Check::no_flags: return "without flags";
    case Check::same_descriptors: return "without CLOSE_RANGE_UNSHARE";
    case Check::plain_fcntl: return "DUPFD, GETFD, SETFD, GETFL, SETFL";
    case Check::plain_ioctl: return "TCGETS, TIOCGWINSZ, FIONREAD, FIONBIO, FIOCLEX, FIONCLEX";
    case Check::plain_prctl: return "names, PR_GET_DUMPABLE, PR_CAPBSET_READ";
    case Check::only_threads: return "threads, with CLONE_FILES, without CLONE_VFORK";
    case Check::only_forks: return "as fork calls it, as often as granted";
    case Check::threads_or_forks:
      return "threads, with CLONE_FILES, without CLONE_VFORK; as fork calls it, as often as granted";
    case Check::not_of_children: return "not SIGCHLD";
    case Check::own_barrier: return "private ones";
    case Check::no_namespaces: return "no namespaces";
    case Check::unix_pair: return "AF_UNIX";
    case Check::as_written: return "without flags and address";
  }
  return "";
}

}  // namespace

const std::vector<Line>& table() { return lines; }

std::string described() {
  std::string text =
      "| calls | submission | with threads | that forks | that forks, with threads | tool | stage "
      "| stage without namespaces | on condition | why |\n|---|---|---|---|---|---|---|---|---|---|\n";
  for (const Line& line : lines) {
    if (line.calls.empty()) continue;  // of another architecture
    text += "|";
    for (const Call& call : line.calls) text += std::string(" ") + call.name;
    for (const unsigned who : {lone, threaded, forking, forking_threads, tool, stage, flat_stage}) {
      text += line.who & who ? " | yes" : " |";
    }
    text += std::string(" | ") + words(line.check) + " | " + line.reason + " |\n";
  }
  return text;
}

}  // namespace system_calls
