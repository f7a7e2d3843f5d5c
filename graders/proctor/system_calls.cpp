#include "system_calls.hpp"

#include "sys.hpp"

namespace system_calls {
namespace {

#define CALL(name) {static_cast<unsigned>(SYS_##name), #name}
#define NEWER_CALL(number, name) {number, #name}  // newer than the headers
#if defined(__x86_64__)
#define X86(name) CALL(name),  // other architectures have only a general form
constexpr unsigned nr_rseq = 334;
#elif defined(__aarch64__)
#define X86(name)
constexpr unsigned nr_rseq = 293;
#else
#error "the system calls of this architecture are not known here"
#endif
constexpr unsigned nr_close_range = sys::nr_close_range, nr_clone3 = 435, nr_faccessat2 = 439, nr_futex_waitv = 449;

const std::vector<Rule> all_rules = {
    // --- files ---
    {all_profiles, Condition::none,
        {CALL(read), CALL(write), CALL(readv), CALL(writev), CALL(pread64), CALL(pwrite64), CALL(preadv), CALL(pwritev),
            CALL(lseek), CALL(sendfile), CALL(copy_file_range)},
        "input and output, on what is open"},
    {submission, Condition::no_flags, {CALL(preadv2), CALL(pwritev2)},
        "the same; a flag of theirs tells what others have read already"},
    {trusted, Condition::none, {CALL(preadv2), CALL(pwritev2), CALL(splice), CALL(tee)},
        "the same; of splice and tee nobody counts the bytes"},
    {all_profiles, Condition::no_truncating_open, {X86(open)},
        "files are opened; before Landlock's ABI 3 who may read one could empty it with a flag"},
    {all_profiles, Condition::no_truncating_openat, {CALL(openat)}, "the same"},
    {all_profiles, Condition::none, {CALL(close), CALL(dup), CALL(dup3), X86(dup2)}, "one's own descriptors"},
    {submission, Condition::shared_descriptors, {NEWER_CALL(nr_close_range, close_range)},
        "the same; threads that had their own would have more of them than the limit allows"},
    {trusted, Condition::none, {NEWER_CALL(nr_close_range, close_range)}, "the same"},
    {all_profiles, Condition::none,
        {CALL(fstat), CALL(newfstatat), CALL(faccessat), NEWER_CALL(nr_faccessat2, faccessat2), CALL(readlinkat),
            CALL(getdents64), CALL(getcwd), CALL(chdir), CALL(fchdir),
            X86(stat) X86(lstat) X86(access) X86(readlink) X86(getdents)},
        "interpreters look for modules; Landlock and mounts say what is there"},
    {submission, Condition::unavailable, {CALL(statx)},
        "when a file was made, and numbers of mounts, which count the programs of the judge: libc does without"},
    {trusted, Condition::none, {CALL(statx)}, "what interpreters look for"},
    {all_profiles, Condition::none, {CALL(ftruncate), CALL(fallocate), CALL(umask)},
        "what is open for writing: one's own output"},
    {submission, Condition::no_effect, {CALL(fsync), CALL(fdatasync)},
        "its output lies in memory; a flush of the machine's disk, that others wait for, is a word"},
    {trusted, Condition::none, {CALL(fsync), CALL(fdatasync)}, "what compilers and checkers write"},
    {all_profiles, Condition::no_effect, {CALL(fadvise64), CALL(readahead)},
        "advice: followed, it empties and fills what the whole machine shares"},
    {trusted, Condition::none, {CALL(statfs), CALL(fstatfs), CALL(sync_file_range)},
        "how full a file system is, all who write there can tell each other"},
    {trusted, Condition::none,
        {CALL(mkdirat), CALL(unlinkat), CALL(renameat), CALL(renameat2), CALL(linkat), CALL(symlinkat), CALL(mknodat),
            CALL(fchmod), CALL(fchmodat), CALL(utimensat),
            X86(mkdir) X86(rmdir) X86(unlink) X86(rename) X86(link) X86(symlink) X86(chmod) X86(utime) X86(utimes)
                X86(mknod)},
        "compilers and checkers make files"},
    {trusted, Condition::none,
        {CALL(getxattr), CALL(lgetxattr), CALL(fgetxattr), CALL(listxattr), CALL(llistxattr), CALL(flistxattr),
            CALL(flock), CALL(fcntl), CALL(ioctl)},
        "cp, tar and linkers; a submission's locks would be seen by whoever may read the file"},
    {submission, Condition::plain_fcntl, {CALL(fcntl)},
        "flags and copies of descriptors; locks, leases, seals and sizes of pipes reach beyond the process"},
    {submission, Condition::plain_ioctl, {CALL(ioctl)}, "is it a terminal, how much is there to read"},
    {trusted, Condition::none,
        {CALL(inotify_init1), CALL(inotify_add_watch), CALL(inotify_rm_watch), X86(inotify_init)},
        "build tools watch files; counted per user"},

    // --- memory ---
    {all_profiles, Condition::none, {CALL(brk), CALL(mprotect), CALL(munmap), CALL(mremap), CALL(msync)},
        "one's own memory"},
    {all_profiles, Condition::own_page_advice, {CALL(madvise)},
        "advice on one's own pages; none that empties what others share, and none that merges pages of several"},
    {submission, Condition::counted_memory, {CALL(mmap)},
        "shared memory without a file leaves the resident set and stays; huge pages are a store of the machine's"},
    {trusted, Condition::none, {CALL(mmap)}, "memory of what we start"},
    {all_threaded | trusted, Condition::none, {CALL(mlock), CALL(munlock)}, "Java tries; the limit of 0 refuses it"},

    // --- this process ---
    {all_profiles, Condition::none,
        {CALL(exit), CALL(exit_group), CALL(execve), CALL(execveat), CALL(wait4), CALL(waitid), CALL(restart_syscall)},
        "to start and to end"},
    {all_profiles, Condition::none,
        {CALL(getpid), CALL(getppid), CALL(gettid), CALL(getuid), CALL(geteuid), CALL(getgid), CALL(getegid),
            CALL(getresuid), CALL(getresgid), CALL(getgroups), X86(getpgrp) CALL(uname), CALL(getcpu),
            CALL(sched_yield), CALL(sched_get_priority_max), CALL(sched_get_priority_min)},
        "who and where it is"},
    {submission, Condition::self_or_enosys, {CALL(getpgid), CALL(getsid), CALL(sched_getaffinity)},
        "of another one they tell whether it is there; libc asks for each thread"},
    {single | forking, Condition::self_or_enosys, {CALL(sched_getparam), CALL(sched_getscheduler)}, "the same"},
    {all_threaded, Condition::self_or_zero, {CALL(sched_getparam), CALL(sched_getscheduler)},
        "the same; Mono ends where a thread of its own has no priority, so all others have the usual one"},
    {all_threaded | trusted, Condition::no_effect, {CALL(sched_setscheduler)},
        "Mono sets the usual priority of its threads, and says on standard output where it cannot"},
    {trusted, Condition::none,
        {CALL(getpgid), CALL(getsid), CALL(sched_getaffinity), CALL(sched_getparam), CALL(sched_getscheduler),
            CALL(getpriority), CALL(capget), CALL(sysinfo), CALL(setpgid), CALL(setsid)},
        "shells and build tools; free memory, load and the number of processes are the machine's"},
    {submission, Condition::unavailable, {CALL(set_robust_list)},
        "who ends wakes the one that waits at an address of this list, in another process, too"},
    {trusted, Condition::none, {CALL(set_robust_list)}, "libc, before main"},
    {all_profiles, Condition::none, {CALL(set_tid_address), NEWER_CALL(nr_rseq, rseq), X86(arch_prctl) CALL(getrandom)},
        "libc, before main"},
    {submission, Condition::own_barrier, {CALL(membarrier)},
        "runtimes, among their threads; one for all of the machine waits without computing, as if for a disk"},
    {trusted, Condition::none, {CALL(membarrier)}, "the same"},
    {submission, Condition::plain_prctl, {CALL(prctl)}, "names of threads and of memory"},
    {trusted, Condition::none, {CALL(prctl)}, "what we start sets up more"},
    {all_profiles, Condition::none, {CALL(getrlimit), CALL(getrusage), CALL(times)},
        "one's own use, which CPython, Java and Go ask for"},
    {submission, Condition::per_process_limits, {CALL(setrlimit)},
        "stack, data, addresses, CPU time, files, dumps are counted per process; "
        "what is counted per user tells of others"},
    {submission, Condition::own_per_process_limits, {CALL(prlimit64)}, "the same, of nobody else"},
    {trusted, Condition::none, {CALL(setrlimit), CALL(prlimit64)}, "ulimit"},

    // --- signals, time ---
    {all_profiles, Condition::none,
        {CALL(rt_sigprocmask), CALL(rt_sigreturn), CALL(sigaltstack), CALL(rt_sigpending), CALL(rt_sigtimedwait),
            CALL(rt_sigsuspend), X86(pause)},
        "one's own signals"},
    {non_forking | trusted, Condition::none, {CALL(rt_sigaction)}, "the same"},
    {all_forking, Condition::not_sigchld, {CALL(rt_sigaction)},
        "the same; of a child that nobody waits for the kernel forgets what it used"},
    {non_forking, Condition::signal_to_own_process, {CALL(kill), CALL(tkill)},
        "abort() and assert(); Go and Java stop their threads so"},
    {non_forking, Condition::signal_to_own_thread, {CALL(tgkill)}, "the same"},
    {trusted, Condition::none,
        {CALL(kill), CALL(tkill), CALL(tgkill), CALL(rt_sigqueueinfo), CALL(rt_tgsigqueueinfo), CALL(signalfd4)},
        "shells; queued signals are counted per user"},
    {all_profiles, Condition::none,
        {CALL(gettimeofday), CALL(nanosleep), CALL(getitimer), CALL(setitimer), X86(time) X86(alarm)},
        "clocks and timers of which each process has a fixed number"},
    {submission, Condition::own_clock, {CALL(clock_gettime), CALL(clock_getres), CALL(clock_nanosleep)},
        "a clock may be that of a process, and tell how long it has worked"},
    {trusted, Condition::none,
        {CALL(clock_gettime), CALL(clock_getres), CALL(clock_nanosleep), CALL(timer_create), CALL(timer_settime),
            CALL(timer_gettime), CALL(timer_delete), CALL(timer_getoverrun)},
        "timers are counted per user, as signals to come"},

    // --- threads, waiting ---
    {single | forking, Condition::private_futex, {CALL(futex)},
        "locks of one's own; by a file that both may read two programs could talk"},
    {all_threaded, Condition::private_or_waiting_futex, {CALL(futex)},
        "waking is for threads of the same process; joining one waits for the kernel to wake"},
    {trusted, Condition::none, {CALL(futex)}, "what we start may share memory"},
    {submission, Condition::unavailable, {NEWER_CALL(nr_futex_waitv, futex_waitv)},
        "what it waits for is behind a pointer"},
    {trusted, Condition::none, {NEWER_CALL(nr_futex_waitv, futex_waitv)}, "what we start may share memory"},
    {threaded, Condition::only_threads, {CALL(clone)},
        "threads, which are counted by who watches; with CLONE_VFORK the caller would wait as if for a disk"},
    {forking, Condition::only_forks, {CALL(clone)},
        "processes, each of which is asked for and counted; none that shares memory, or for which the caller waits as "
        "if "
        "for a disk"},
    {forking_threaded, Condition::threads_or_forks, {CALL(clone)}, "both"},
    {all_forking, Condition::none, {X86(fork)}, "the same as clone"},
    {trusted & ~stage, Condition::no_namespaces, {CALL(clone)}, "processes, in the namespaces that are there"},
    {trusted, Condition::none, {X86(fork) X86(vfork)}, "processes"},
    {all_profiles, Condition::unavailable, {NEWER_CALL(nr_clone3, clone3)},
        "its flags are behind a pointer, where no filter sees them"},
    {all_profiles, Condition::none, {CALL(pselect6), CALL(ppoll), X86(select) X86(poll)}, "to wait for input"},
    {all_threaded | forking | trusted, Condition::none, {CALL(pipe2), X86(pipe)},
        "runtimes wake their threads, processes talk; pages of pipes are counted per user, inodes per machine"},
    {all_threaded | trusted, Condition::none,
        {CALL(epoll_create1), CALL(epoll_ctl), CALL(epoll_pwait), CALL(eventfd2), CALL(timerfd_create),
            CALL(timerfd_settime), CALL(timerfd_gettime), X86(epoll_create) X86(epoll_wait) X86(eventfd)},
        "runtimes wake their threads; watches are counted per user, inodes per machine"},
    {all_threaded, Condition::unix_socket_pair, {CALL(socketpair)},
        "two ends in one process, and no call to hand one on: Java's channels want a pair before they read a file"},
    {all_threaded, Condition::like_read_and_write, {CALL(sendto), CALL(recvfrom)},
        "to such a pair: Python's asyncio wakes its loop so when a thread has ended"},
    {trusted, Condition::none,
        {CALL(socketpair), CALL(recvmsg), CALL(sendmsg), CALL(recvfrom), CALL(sendto), CALL(shutdown),
            CALL(getpeername), CALL(getsockname)},
        "build tools talk to their own processes; there is no call for a socket that leads elsewhere"},

    // --- what a proctor needs to make boxes within a box ---
    {stages, Condition::none,
        {CALL(seccomp), CALL(capset), CALL(setresuid), CALL(setresgid), CALL(setuid), CALL(setgid), CALL(setgroups),
            CALL(memfd_create), CALL(fchown), CALL(fchownat),
            X86(chown) NEWER_CALL(sys::nr_landlock_create_ruleset, landlock_create_ruleset),
            NEWER_CALL(sys::nr_landlock_add_rule, landlock_add_rule),
            NEWER_CALL(sys::nr_landlock_restrict_self, landlock_restrict_self)},
        "a proctor makes boxes within a box"},
    {stage, Condition::none,
        {CALL(clone), CALL(unshare), CALL(mount), CALL(umount2), CALL(pivot_root),
            NEWER_CALL(sys::nr_mount_setattr, mount_setattr)},
        "the same, where users may make namespaces"},
};

const char* condition_text(Condition condition) {
  switch (condition) {
    case Condition::none: return "";
    case Condition::no_effect: return "succeeds, and does nothing";
    case Condition::unavailable: return "ENOSYS";
    case Condition::signal_to_own_process:
    case Condition::signal_to_own_thread: return "on itself, not SIGKILL";
    case Condition::self_or_enosys: return "on itself, ENOSYS for others";
    case Condition::self_or_zero: return "on itself, 0 for others";
    case Condition::own_clock: return "a clock of all, or its own";
    case Condition::no_truncating_open:
    case Condition::no_truncating_openat: return "not O_TRUNC for reading";
    case Condition::per_process_limits: return "FSIZE, DATA, STACK, CORE, RSS, NOFILE, AS; CPU does nothing";
    case Condition::own_per_process_limits:
      return "its own; sets FSIZE, DATA, STACK, CORE, RSS, NOFILE, AS; CPU does nothing";
    case Condition::private_futex: return "private ones";
    case Condition::private_or_waiting_futex: return "private ones; others to wait for";
    case Condition::counted_memory: return "not shared without a file, not huge";
    case Condition::own_page_advice: return "not COLD, PAGEOUT, REMOVE, MERGEABLE, nor unknown ones";
    case Condition::no_flags: return "without flags";
    case Condition::shared_descriptors: return "without CLOSE_RANGE_UNSHARE";
    case Condition::plain_fcntl: return "DUPFD, GETFD, SETFD, GETFL, SETFL";
    case Condition::plain_ioctl: return "TCGETS, TIOCGWINSZ, FIONREAD, FIONBIO, FIOCLEX, FIONCLEX";
    case Condition::plain_prctl: return "names, PR_GET_DUMPABLE, PR_CAPBSET_READ";
    case Condition::only_threads: return "threads, with CLONE_FILES, without CLONE_VFORK";
    case Condition::only_forks: return "as fork calls it, as often as granted";
    case Condition::threads_or_forks:
      return "threads, with CLONE_FILES, without CLONE_VFORK; as fork calls it, as often as granted";
    case Condition::not_sigchld: return "not SIGCHLD";
    case Condition::own_barrier: return "private ones";
    case Condition::no_namespaces: return "no namespaces";
    case Condition::unix_socket_pair: return "AF_UNIX";
    case Condition::like_read_and_write: return "without flags and address";
  }
  return "";
}

}  // namespace

const std::vector<Rule>& rules() { return all_rules; }

std::string markdown_table() {
  std::string text =
      "| calls | submission | with threads | that forks | that forks, with threads | tool | stage "
      "| stage without namespaces | on condition | why |\n|---|---|---|---|---|---|---|---|---|---|\n";
  for (const Rule& rule : all_rules) {
    if (rule.calls.empty()) continue;  // of another architecture
    text += "|";
    for (const Call& call : rule.calls) text += std::string(" ") + call.name;
    for (const unsigned profile : {single, threaded, forking, forking_threaded, tool, stage, flat_stage}) {
      text += rule.profiles & profile ? " | yes" : " |";
    }
    text += std::string(" | ") + condition_text(rule.condition) + " | " + rule.reason + " |\n";
  }
  return text;
}

}  // namespace system_calls
