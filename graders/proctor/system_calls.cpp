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

const std::vector<SystemCallRule> all_rules = {
    // --- files ---
    {all_profiles, Condition::none,
        {CALL(read), CALL(write), CALL(readv), CALL(writev), CALL(pread64), CALL(pwrite64), CALL(preadv), CALL(pwritev),
            CALL(lseek), CALL(sendfile), CALL(copy_file_range)},
        "input and output on open files"},
    {submission, Condition::no_flags, {CALL(preadv2), CALL(pwritev2)},
        "the same; a flag would reveal which pages other processes have read"},
    {trusted, Condition::none, {CALL(preadv2), CALL(pwritev2), CALL(splice), CALL(tee)},
        "the same; bytes moved by splice and tee are not counted"},
    {all_profiles, Condition::no_truncating_open, {X86(open)},
        "to open files; before Landlock ABI 3, O_TRUNC would truncate a file that is only readable"},
    {all_profiles, Condition::no_truncating_openat, {CALL(openat)}, "the same"},
    {all_profiles, Condition::none, {CALL(close), CALL(dup), CALL(dup3), X86(dup2)}, "one's own descriptors"},
    {submission, Condition::shared_descriptor_table, {NEWER_CALL(nr_close_range, close_range)},
        "the same; a thread with its own descriptor table could exceed the limit of open files"},
    {trusted, Condition::none, {NEWER_CALL(nr_close_range, close_range)}, "the same"},
    {all_profiles, Condition::none,
        {CALL(fstat), CALL(newfstatat), CALL(faccessat), NEWER_CALL(nr_faccessat2, faccessat2), CALL(readlinkat),
            CALL(getdents64), CALL(getcwd), CALL(chdir), CALL(fchdir),
            X86(stat) X86(lstat) X86(access) X86(readlink) X86(getdents)},
        "interpreters look for modules; Landlock and mounts limit what is visible"},
    {submission, Condition::unavailable, {CALL(statx)},
        "reveals creation times and mount numbers, which count the judge's programs; libc has a fallback"},
    {trusted, Condition::none, {CALL(statx)}, "interpreters look for modules"},
    {all_profiles, Condition::none, {CALL(ftruncate), CALL(fallocate), CALL(umask)},
        "files that are open for writing: the program's own output"},
    {submission, Condition::no_effect, {CALL(fsync), CALL(fdatasync)},
        "its output is in memory; flushing the disk delays other programs and so is a channel"},
    {trusted, Condition::none, {CALL(fsync), CALL(fdatasync)}, "files that compilers and checkers write"},
    {all_profiles, Condition::no_effect, {CALL(fadvise64), CALL(readahead)},
        "advice would fill and empty the page cache, which the whole machine shares"},
    {trusted, Condition::none, {CALL(statfs), CALL(fstatfs), CALL(sync_file_range)},
        "programs that write to a file system could communicate by how full it is"},
    {trusted, Condition::none,
        {CALL(mkdirat), CALL(unlinkat), CALL(renameat), CALL(renameat2), CALL(linkat), CALL(symlinkat), CALL(mknodat),
            CALL(fchmod), CALL(fchmodat), CALL(utimensat),
            X86(mkdir) X86(rmdir) X86(unlink) X86(rename) X86(link) X86(symlink) X86(chmod) X86(utime) X86(utimes)
                X86(mknod)},
        "compilers and checkers create and change files"},
    {trusted, Condition::none,
        {CALL(getxattr), CALL(lgetxattr), CALL(fgetxattr), CALL(listxattr), CALL(llistxattr), CALL(flistxattr),
            CALL(flock), CALL(fcntl), CALL(ioctl)},
        "cp, tar and linkers; locks of a submission would be visible to other readers of a file"},
    {submission, Condition::plain_fcntl, {CALL(fcntl)},
        "flags and copies of descriptors; locks, leases, seals and pipe sizes affect other processes"},
    {submission, Condition::plain_ioctl, {CALL(ioctl)}, "whether it is a terminal, and how much there is to read"},
    {trusted, Condition::none,
        {CALL(inotify_init1), CALL(inotify_add_watch), CALL(inotify_rm_watch), X86(inotify_init)},
        "build tools watch files; watches are counted per user"},

    // --- memory ---
    {all_profiles, Condition::none, {CALL(brk), CALL(mprotect), CALL(munmap), CALL(mremap), CALL(msync)},
        "one's own memory"},
    {all_profiles, Condition::own_page_advice, {CALL(madvise)},
        "advice on one's own pages; none that evicts shared pages or merges pages of several processes"},
    {submission, Condition::countable_memory, {CALL(mmap)},
        "shared memory without a file can leave the resident set without being freed; huge pages are shared by all"},
    {trusted, Condition::none, {CALL(mmap)}, "memory of trusted programs"},
    {all_threaded | trusted, Condition::none, {CALL(mlock), CALL(munlock)}, "Java tries it; RLIMIT_MEMLOCK is 0"},

    // --- this process ---
    {all_profiles, Condition::none,
        {CALL(exit), CALL(exit_group), CALL(execve), CALL(execveat), CALL(wait4), CALL(waitid), CALL(restart_syscall)},
        "to start and end programs"},
    {all_profiles, Condition::none,
        {CALL(getpid), CALL(getppid), CALL(gettid), CALL(getuid), CALL(geteuid), CALL(getgid), CALL(getegid),
            CALL(getresuid), CALL(getresgid), CALL(getgroups), X86(getpgrp) CALL(uname), CALL(getcpu),
            CALL(sched_yield), CALL(sched_get_priority_max), CALL(sched_get_priority_min)},
        "ids of the process, the machine's name and the scheduler"},
    {submission, Condition::self_or_enosys, {CALL(getpgid), CALL(getsid), CALL(sched_getaffinity)},
        "of others, they reveal whether a process exists; libc calls them for each thread"},
    {single | forking, Condition::self_or_enosys, {CALL(sched_getparam), CALL(sched_getscheduler)}, "the same"},
    {all_threaded, Condition::self_or_zero, {CALL(sched_getparam), CALL(sched_getscheduler)},
        "the same; Mono aborts if one of its threads has no priority, so all others seem to have the default one"},
    {all_threaded | trusted, Condition::no_effect, {CALL(sched_setscheduler)},
        "Mono sets the default priority of its threads, and prints a message if it cannot"},
    {trusted, Condition::none,
        {CALL(getpgid), CALL(getsid), CALL(sched_getaffinity), CALL(sched_getparam), CALL(sched_getscheduler),
            CALL(getpriority), CALL(capget), CALL(sysinfo), CALL(setpgid), CALL(setsid)},
        "shells and build tools; free memory, load and the number of processes are those of the machine"},
    {submission, Condition::unavailable, {CALL(set_robust_list)},
        "the end of a thread wakes waiters at the addresses of this list, also in other processes"},
    {trusted, Condition::none, {CALL(set_robust_list)}, "libc, before main"},
    {all_profiles, Condition::none, {CALL(set_tid_address), NEWER_CALL(nr_rseq, rseq), X86(arch_prctl) CALL(getrandom)},
        "libc, before main"},
    {submission, Condition::own_barrier, {CALL(membarrier)},
        "runtimes, for their threads; a barrier for the whole machine waits without computing, as if for a disk"},
    {trusted, Condition::none, {CALL(membarrier)}, "the same"},
    {submission, Condition::plain_prctl, {CALL(prctl)}, "names of threads and of memory regions"},
    {trusted, Condition::none, {CALL(prctl)}, "trusted programs set more options"},
    {all_profiles, Condition::none, {CALL(getrlimit), CALL(getrusage), CALL(times)},
        "one's own usage, which CPython, Java and Go read"},
    {submission, Condition::setrlimit_per_process, {CALL(setrlimit)},
        "stack, data, addresses, CPU time, files and dumps are counted per process; "
        "limits that are counted per user reveal the usage of others"},
    {submission, Condition::prlimit_of_caller, {CALL(prlimit64)}, "the same, only for the caller"},
    {trusted, Condition::none, {CALL(setrlimit), CALL(prlimit64)}, "ulimit"},

    // --- signals, time ---
    {all_profiles, Condition::none,
        {CALL(rt_sigprocmask), CALL(rt_sigreturn), CALL(sigaltstack), CALL(rt_sigpending), CALL(rt_sigtimedwait),
            CALL(rt_sigsuspend), X86(pause)},
        "one's own signals"},
    {non_forking | trusted, Condition::none, {CALL(rt_sigaction)}, "the same"},
    {all_forking, Condition::any_signal_except_sigchld, {CALL(rt_sigaction)},
        "the same; the usage of a child that nobody waits for would be lost"},
    {non_forking, Condition::signal_to_own_process, {CALL(kill), CALL(tkill)},
        "abort() and assert(); Go and Java stop their threads with signals"},
    {non_forking, Condition::signal_to_own_thread, {CALL(tgkill)}, "the same"},
    {trusted, Condition::none,
        {CALL(kill), CALL(tkill), CALL(tgkill), CALL(rt_sigqueueinfo), CALL(rt_tgsigqueueinfo), CALL(signalfd4)},
        "shells; queued signals are counted per user"},
    {all_profiles, Condition::none,
        {CALL(gettimeofday), CALL(nanosleep), CALL(getitimer), CALL(setitimer), X86(time) X86(alarm)},
        "clocks, and timers of which each process has a fixed number"},
    {submission, Condition::own_clock, {CALL(clock_gettime), CALL(clock_getres), CALL(clock_nanosleep)},
        "the clock of another process shows how long it has computed"},
    {trusted, Condition::none,
        {CALL(clock_gettime), CALL(clock_getres), CALL(clock_nanosleep), CALL(timer_create), CALL(timer_settime),
            CALL(timer_gettime), CALL(timer_delete), CALL(timer_getoverrun)},
        "timers are counted per user, like pending signals"},

    // --- threads, waiting ---
    {single | forking, Condition::private_futex, {CALL(futex)},
        "one's own locks; two programs could communicate by a futex in a file that both may read"},
    {all_threaded, Condition::private_or_waiting_futex, {CALL(futex)},
        "waking is limited to threads of the same process; to join a thread is to wait for a wake-up by the kernel"},
    {trusted, Condition::none, {CALL(futex)}, "trusted programs may share memory"},
    {submission, Condition::unavailable, {NEWER_CALL(nr_futex_waitv, futex_waitv)},
        "the futexes are behind a pointer, where no filter sees them"},
    {trusted, Condition::none, {NEWER_CALL(nr_futex_waitv, futex_waitv)}, "trusted programs may share memory"},
    {threaded, Condition::only_threads, {CALL(clone)},
        "threads, which the supervisor counts; with CLONE_VFORK the caller would wait as if for a disk"},
    {forking, Condition::only_forks, {CALL(clone)},
        "processes, each of which needs permission and is counted; none that shares memory, or for which the caller "
        "waits as if for a disk"},
    {forking_threaded, Condition::threads_or_forks, {CALL(clone)}, "both"},
    {all_forking, Condition::none, {X86(fork)}, "the same as clone"},
    {trusted & ~stage, Condition::no_namespaces, {CALL(clone)}, "processes, in the existing namespaces"},
    {trusted, Condition::none, {X86(fork) X86(vfork)}, "processes"},
    {all_profiles, Condition::unavailable, {NEWER_CALL(nr_clone3, clone3)},
        "its flags are behind a pointer, where no filter sees them"},
    {all_profiles, Condition::none, {CALL(pselect6), CALL(ppoll), X86(select) X86(poll)}, "to wait for input"},
    {all_threaded | forking | trusted, Condition::none, {CALL(pipe2), X86(pipe)},
        "runtimes wake their threads, processes communicate; pipe pages are counted per user, inodes per machine"},
    {all_threaded | trusted, Condition::none,
        {CALL(epoll_create1), CALL(epoll_ctl), CALL(epoll_pwait), CALL(eventfd2), CALL(timerfd_create),
            CALL(timerfd_settime), CALL(timerfd_gettime), X86(epoll_create) X86(epoll_wait) X86(eventfd)},
        "runtimes wake their threads; watches are counted per user, inodes per machine"},
    {all_threaded, Condition::unix_socket_pair, {CALL(socketpair)},
        "both ends stay in one process, since no call sends a descriptor; Java's channels need a pair to read a file"},
    {all_threaded, Condition::plain_send_and_receive, {CALL(sendto), CALL(recvfrom)},
        "on such a pair: Python's asyncio wakes its loop when a thread has ended"},
    {trusted, Condition::none,
        {CALL(socketpair), CALL(recvmsg), CALL(sendmsg), CALL(recvfrom), CALL(sendto), CALL(shutdown),
            CALL(getpeername), CALL(getsockname)},
        "build tools communicate with their own processes; no call connects a socket to anything else"},

    // --- calls with which a proctor creates sandboxes within a sandbox ---
    {stages, Condition::none,
        {CALL(seccomp), CALL(capset), CALL(setresuid), CALL(setresgid), CALL(setuid), CALL(setgid), CALL(setgroups),
            CALL(memfd_create), CALL(fchown), CALL(fchownat),
            X86(chown) NEWER_CALL(sys::nr_landlock_create_ruleset, landlock_create_ruleset),
            NEWER_CALL(sys::nr_landlock_add_rule, landlock_add_rule),
            NEWER_CALL(sys::nr_landlock_restrict_self, landlock_restrict_self)},
        "a proctor makes sandboxes within a sandbox"},
    {stage, Condition::none,
        {CALL(clone), CALL(unshare), CALL(mount), CALL(umount2), CALL(pivot_root),
            NEWER_CALL(sys::nr_mount_setattr, mount_setattr)},
        "the same, if users may make namespaces"},
};

const char* describe_condition(Condition condition) {
  switch (condition) {
    case Condition::none: return "";
    case Condition::no_effect: return "succeeds without an effect";
    case Condition::unavailable: return "ENOSYS";
    case Condition::signal_to_own_process:
    case Condition::signal_to_own_thread: return "on itself, not SIGKILL";
    case Condition::self_or_enosys: return "on itself, ENOSYS for others";
    case Condition::self_or_zero: return "on itself, 0 for others";
    case Condition::own_clock: return "a global clock, or its own";
    case Condition::no_truncating_open:
    case Condition::no_truncating_openat: return "not O_TRUNC for reading";
    case Condition::setrlimit_per_process: return "FSIZE, DATA, STACK, CORE, RSS, NOFILE, AS; CPU does nothing";
    case Condition::prlimit_of_caller:
      return "its own; sets FSIZE, DATA, STACK, CORE, RSS, NOFILE, AS; CPU does nothing";
    case Condition::private_futex: return "private ones";
    case Condition::private_or_waiting_futex: return "private ones; others only to wait";
    case Condition::countable_memory: return "not shared without a file, not huge";
    case Condition::own_page_advice: return "not COLD, PAGEOUT, REMOVE, MERGEABLE, nor unknown ones";
    case Condition::no_flags: return "without flags";
    case Condition::shared_descriptor_table: return "without CLOSE_RANGE_UNSHARE";
    case Condition::plain_fcntl: return "DUPFD, GETFD, SETFD, GETFL, SETFL";
    case Condition::plain_ioctl: return "TCGETS, TIOCGWINSZ, FIONREAD, FIONBIO, FIOCLEX, FIONCLEX";
    case Condition::plain_prctl: return "names, PR_GET_DUMPABLE, PR_CAPBSET_READ";
    case Condition::only_threads: return "threads, with CLONE_FILES, without CLONE_VFORK";
    case Condition::only_forks: return "as fork calls it, as often as permitted";
    case Condition::threads_or_forks:
      return "threads, with CLONE_FILES, without CLONE_VFORK; as fork calls it, as often as permitted";
    case Condition::any_signal_except_sigchld: return "not SIGCHLD";
    case Condition::own_barrier: return "private ones";
    case Condition::no_namespaces: return "no namespaces";
    case Condition::unix_socket_pair: return "AF_UNIX";
    case Condition::plain_send_and_receive: return "without flags and address";
  }
  return "";
}

}  // namespace

const std::vector<SystemCallRule>& list_system_call_rules() { return all_rules; }

std::string format_system_call_table() {
  std::string text =
      "| calls | submission | with threads | that forks | that forks, with threads | tool | stage "
      "| stage without namespaces | on condition | why |\n|---|---|---|---|---|---|---|---|---|---|\n";
  for (const SystemCallRule& rule : all_rules) {
    if (rule.calls.empty()) continue;  // of another architecture
    text += "|";
    for (const SystemCall& call : rule.calls) text += std::string(" ") + call.name;
    for (const unsigned profile : {single, threaded, forking, forking_threaded, tool, stage, flat_stage}) {
      text += rule.profiles & profile ? " | yes" : " |";
    }
    text += std::string(" | ") + describe_condition(rule.condition) + " | " + rule.reason + " |\n";
  }
  return text;
}

}  // namespace system_calls
