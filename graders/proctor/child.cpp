#include "child.hpp"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fcntl.h>
#include <linux/capability.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "elf.hpp"
#include "files.hpp"
#include "landlock.hpp"
#include "mounts.hpp"

namespace process {
namespace {

constexpr const char* work_folder = "/box";

void limit(int resource, int64_t value) {
  rlimit current;
  if (value == unlimited || getrlimit(static_cast<__rlimit_resource_t>(resource), &current) != 0) return;
  const auto wanted = std::min<rlim_t>(static_cast<rlim_t>(value), current.rlim_max);
  const rlimit both = {wanted, wanted};
  setrlimit(static_cast<__rlimit_resource_t>(resource), &both);
}

void unlimit_stack() {
  rlimit stack;
  if (getrlimit(RLIMIT_STACK, &stack) != 0) return;
  stack.rlim_cur = stack.rlim_max;
  setrlimit(RLIMIT_STACK, &stack);
}

// The number that a file of /proc tells.
int64_t number_in(const sandbox::Room& room, const char* name, const char* format) {
  const sys::Fd fd(openat(room.proc.get(), name, O_RDONLY | O_CLOEXEC));
  char line[128] = {};
  long long number = 0;
  if (!fd.valid() || read(fd.get(), line, sizeof line - 1) <= 0) return unlimited;
  return std::sscanf(line, format, &number) == 1 ? number : unlimited;
}

// How many processes and threads there are, of all users.
int64_t all_tasks(const sandbox::Room& room) { return number_in(room, "loadavg", "%*s %*s %*s %*d/%lld"); }

// A submission's threads and processes are counted by its supervisor. This is far above what any is granted, and says
// nothing of the machine's other tasks.
int64_t most_of_a_submission(const sandbox::Room& room, const Program& program) {
  if (!program.threads && program.processes <= 1) return unlimited;
  if (room.counts) return program.limits.threads == unlimited ? 4096 : program.limits.threads + 4096;
  const int64_t numbers = number_in(room, "sys/kernel/pid_max", "%lld");
  return numbers == unlimited ? unlimited : numbers / 4;
}

// In a user namespace of its own the kernel counts this program's processes alone. Elsewhere it counts all that the
// same user runs, so the exact limit is the supervisor's. This one is far above it: a crowd that grows between two
// looks leaves numbers for the others, most of all for who judges them.
int64_t most_tasks(const sandbox::Room& room, const Program& program) {
  if (program.profile == seccomp::Profile::submission) return most_of_a_submission(room, program);
  const int64_t others_may_start = program.nests ? 16384 : 4096;
  const int64_t limit = program.limits.processes;
  if (limit == unlimited || room.counts) return limit;
  const int64_t tasks = all_tasks(room);
  return tasks == unlimited ? unlimited : tasks + limit + others_may_start;
}

void set_limits(const sandbox::Room& room, const Program& program, int64_t tasks) {
  const sandbox::Layers& layers = room.layers;
  const Limits& limits = program.limits;
  unlimit_stack();
  // Not 0: where the system hands dumps to a program, only 1 keeps it from being started.
  if (layers.on("rlimit-core")) limit(RLIMIT_CORE, 1);
  if (layers.on("rlimit-memlock")) limit(RLIMIT_MEMLOCK, 0);
  if (layers.on("rlimit-msgqueue")) limit(RLIMIT_MSGQUEUE, 0);
  // Signals to come are counted per user, so that a limit that can be reached tells how many others have. 0 is always
  // reached.
  if (program.profile == seccomp::Profile::submission && layers.on("rlimit-sigpending")) limit(RLIMIT_SIGPENDING, 0);
  if (layers.on("rlimit-nofile")) limit(RLIMIT_NOFILE, limits.open_files);
  if (layers.on("rlimit-fsize")) limit(RLIMIT_FSIZE, limits.file_size);
#ifndef __SANITIZE_ADDRESS__  // its shadow takes terabytes of addresses
  if (layers.on("rlimit-as")) limit(RLIMIT_AS, limits.address_space);
#endif
  // A backstop for a supervisor that is starved: two seconds later than it would have killed.
  if (limits.cpu_us != unlimited && layers.on("rlimit-cpu")) limit(RLIMIT_CPU, cpu_limit(limits, true) / 1000000 + 2);
  if (layers.on("rlimit-nproc")) limit(RLIMIT_NPROC, tasks);
}

void place_standard(const Program& program) {
  const int wanted[] = {program.input, program.output, program.error};
  // First out of the way of each other, then into place.
  int moved[3];
  for (int i = 0; i < 3; ++i) {
    moved[i] = wanted[i] >= 0 ? fcntl(wanted[i], F_DUPFD_CLOEXEC, 3) : open("/dev/null", O_RDWR | O_CLOEXEC);
    if (moved[i] < 0) sys::fail_errno("standard descriptor " + std::to_string(i));
  }
  for (int i = 0; i < 3; ++i)
    if (dup2(moved[i], i) < 0) sys::fail_errno("standard descriptor " + std::to_string(i));
}

void mount_or_fail(const std::string& source, const std::string& target, const char* type, unsigned long flags,
    const std::string& data) {
  if (mount(source.c_str(), target.c_str(), type, flags, data.empty() ? nullptr : data.c_str()) != 0)
    sys::fail_errno("mount on " + target);
}

constexpr const char* hidden_folder = "/job";  // from programs

void bind_file(const std::string& source, const std::string& target, bool writable) {
  mount_or_fail(source, target, nullptr, MS_BIND | MS_REC, "");
  if (!writable) mount_or_fail("", target, nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV, "");
}

// A /proc with nothing but what `program` has open, or an empty file under its number.
void stand_in_for_proc(const Program& program) {
  constexpr unsigned long flags = MS_NOSUID | MS_NODEV | MS_NOEXEC;
  const std::string descriptors = "/proc/self/fd";
  mount_or_fail("proc", "/proc", "tmpfs", flags, "mode=0755,size=4k,nr_inodes=8");
  for (const char* folder : {"/proc/self", descriptors.c_str()})
    if (mkdir(folder, 0755) != 0) sys::fail_errno(folder);
  if (program.streams)
    mount_or_fail(hidden_folder, descriptors, nullptr, MS_MOVE, "");
  else if (mknod((descriptors + "/" + std::to_string(program.file)).c_str(), S_IFREG, 0) != 0)
    sys::fail_errno("the program's name");
  mount_or_fail("", "/proc", nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY | flags, "");
}

// What is shown below /tmp is shown in the program's own, too.
void mount_tmp(const sandbox::Room& room, const std::string& size) {
  std::vector<mounts::Shown> covered;
  for (const std::string& path : room.below_tmp) covered.push_back(mounts::open_shown(path));
  mount_or_fail("tmp", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, "mode=0700,nr_inodes=100k,size=" + size);
  for (const mounts::Shown& shown : covered) mounts::show("", shown, true);
}

// In a namespace of its own the program sees its folder as /box, and the job's folder not at all.
void arrange_mounts(const sandbox::Room& room, const Program& program) {
  if (!program.folder.empty()) {
    const std::string folder = room.job + "/" + program.folder;
    bind_file(folder, work_folder, program.folder_writable);
    for (const std::string& name : program.writable)
      bind_file(folder + "/" + name, std::string(work_folder) + "/" + name, true);
  }
  if (!program.tmp_size.empty()) mount_tmp(room, program.tmp_size);
  // The job's folder stays below ours for the supervisor's sake only until here.
  if (umount2(hidden_folder, MNT_DETACH) != 0) sys::fail_errno("hide the job's folder");
  if (program.proc) return;
  if (program.streams) mount_or_fail("/proc/self/fd", hidden_folder, nullptr, MS_BIND, "");
  umount2("/proc", MNT_DETACH);  // its own
  umount2("/proc", MNT_DETACH);  // the room's
  if (program.streams || (room.by_name && program.file >= 0)) stand_in_for_proc(program);
}

std::string folder_here(const sandbox::Room& room, const Program& program) {
  if (room.pid) return program.folder.empty() ? "/" : work_folder;
  return program.folder.empty() ? "" : room.job + "/" + program.folder;
}

// The program is in its folder already.
void grant_folder(landlock::Rules& rules, const Program& program) {
  if (program.folder.empty()) return;
  rules.permit_path(".", program.folder_writable ? landlock::Access::work : landlock::Access::run);
  for (const std::string& name : program.writable) {
    struct stat status;
    const bool is_folder = stat(name.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
    rules.permit_path(name.c_str(), is_folder ? landlock::Access::work : landlock::Access::write);
  }
}

// Of /proc/self. Not all of it: below net stands what the machine's other processes have open.
constexpr const char* what_runtimes_read[] =
    {"fd", "maps", "stat", "status", "statm", "coredump_filter"};

// Everything that Landlock lets the program touch.
void enforce_landlock(const sandbox::Room& room, const Program& program) {
  if (room.landlock_abi == 0 || (program.nests && room.mount)) return;
  landlock::Rules rules;
  for (const sandbox::Grant& grant : room.system) rules.permit(grant.fd.get(), grant.access);
  grant_folder(rules, program);
  if (room.pid && !program.tmp_size.empty()) rules.permit_path("/tmp", landlock::Access::work);
  if (program.file >= 0) rules.permit(program.file, landlock::Access::run);
  for (const int fd : program.inherited) rules.permit(fd, landlock::Access::run);
  if (program.proc || program.streams) rules.permit(0, landlock::Access::read);  // so that /dev/stdin can be opened
  if (program.proc) {
    if (program.profile == seccomp::Profile::submission)
      for (const char* name : what_runtimes_read)
        rules.permit_path((std::string("/proc/self/") + name).c_str(), landlock::Access::read);
    else
      rules.permit_path(program.nests || (program.proc_of_box && room.pid) ? "/proc" : "/proc/self",
          landlock::Access::read);
  }
  const std::string wrong = rules.enforce();
  if (!wrong.empty()) sys::fail(wrong);
}

void drop_capabilities() {
  prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct none[2] = {};
  if (syscall(SYS_capset, &header, none) != 0) sys::fail_errno("drop capabilities");
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) sys::fail_errno("no_new_privs");
}

// What goes on has arranged its signals already.
void reset_signals(const Program& program) {
  for (int number = 1; number < NSIG && !program.instead; ++number) signal(number, SIG_DFL);
  if (program.limits.cuts) signal(SIGXFSZ, SIG_IGN);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

// A submission that cannot be started is one that fails, not one that nobody can judge.
void end_if_it_is_to_blame(const Program& program) {
  const int error = errno;
  if (program.profile == seccomp::Profile::submission && program.file >= 0 &&
      elf::cannot_be_started(program.file, error)) {
    dprintf(STDERR_FILENO, "the program cannot be started: %s\n", std::strerror(error));
    _exit(127);
  }
  errno = error;
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (const std::string& text : texts) all.push_back(const_cast<char*>(text.c_str()));
  all.push_back(nullptr);
  return all;
}

void execute(const sandbox::Room& room, const Program& program) {
  std::vector<std::string> words = program.argv;
  if (program.told >= 0) words.push_back(std::to_string(program.told));
  const std::vector<char*> argv = pointers(words), own = pointers(program.env);
  char* const* env = room.layers.on("environment") ? own.data() : environ;
  // Whoever wrote the program may still be closing it, and a crowd of the same user may just be ended.
  for (int patience = 2000; patience > 0; --patience) {
    if (program.file >= 0)
      syscall(SYS_execveat, program.file, "", argv.data(), env, AT_EMPTY_PATH);
    else
      execve(argv[0], argv.data(), env);
    if (errno != ETXTBSY && errno != EAGAIN) break;
    const timespec moment = {0, 1000 * 1000};
    nanosleep(&moment, nullptr);
  }
  end_if_it_is_to_blame(program);
  sys::fail_errno("cannot start " + program.argv[0]);
}

void confine(const sandbox::Room& room, const Program& program) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (room.layers.on("session")) setsid();
  if (room.pid && room.shared.empty()) arrange_mounts(room, program);
  const std::string folder = folder_here(room, program);
  if (!folder.empty() && chdir(folder.c_str()) != 0) sys::fail_errno("enter " + folder);
  place_standard(program);
  for (const int fd : program.inherited) fcntl(fd, F_SETFD, 0);
  if (room.layers.on("privileges")) drop_capabilities();
  const int64_t tasks = most_tasks(room, program);
  enforce_landlock(room, program);  // needs descriptors, perhaps above the limit that comes next
  set_limits(room, program, tasks);
}

// Its supervisor may measure it, and the list of locks is gone that the kernel opens for whoever ends: they could be
// another's, too.
void be_as_after_a_start() {
  constexpr size_t length_of_head = 3 * sizeof(void*);
  if (prctl(PR_SET_DUMPABLE, 1) != 0 || syscall(SYS_set_robust_list, nullptr, length_of_head) != 0)
    sys::fail_errno("a process as after a start");
}

// Closes what a start would close.
void go_on(const Program& program, int news) {
  close(news);
  program.instead(program);
}

// Hands on a descriptor, the only one that ever goes this way.
void hand_starts(int socket, const sys::Fd& asked) {
  char letter = 0, room[CMSG_SPACE(sizeof(int))] = {};
  iovec text = {&letter, 1};
  msghdr message = {};
  message.msg_iov = &text, message.msg_iovlen = 1, message.msg_control = room, message.msg_controllen = sizeof room;
  cmsghdr* const head = CMSG_FIRSTHDR(&message);
  head->cmsg_level = SOL_SOCKET, head->cmsg_type = SCM_RIGHTS, head->cmsg_len = CMSG_LEN(sizeof(int));
  const int handed = asked.get();
  std::memcpy(CMSG_DATA(head), &handed, sizeof handed);
  if (sendmsg(socket, &message, 0) != 1) sys::fail_errno("tell the supervisor who asks for processes");
}

void filter_calls(const sandbox::Room& room, const Program& program, int starts) {
  if (program.processes > 1 && !room.seccomp) sys::fail("processes cannot be counted without seccomp");
  if (!room.seccomp) return;
  if (asks_for_threads(room, program) || program.processes > 1) {
    const sys::Fd asked = seccomp::ask_for_starts(asks_for_threads(room, program));
    if (asked.valid())
      hand_starts(starts, asked);
    else if (program.processes > 1)
      sys::fail_errno("processes cannot be counted (Linux 5.5 and newer ask for each)");
  }
  close(starts);
  const bool flat = program.profile == seccomp::Profile::stage && !room.user;
  const std::string wrong =
      seccomp::install(flat ? seccomp::Profile::flat_stage : program.profile, granted(program), getpid());
  if (!wrong.empty()) sys::fail(wrong);
}

// All but its own are gone for the program; `news` and the program's file close when it starts.
void keep_descriptors(const sandbox::Room& room, const Program& program, int news, int starts) {
  if (!room.layers.on("descriptors")) {
    for (int fd = 3; fd < 4096; ++fd)
      if (fd != news && fd != starts) fcntl(fd, F_SETFD, 0);
    return;
  }
  std::vector<int> kept = program.inherited;
  kept.push_back(news);
  if (starts >= 0) kept.push_back(starts);
  if (program.file >= 0) kept.push_back(program.file);
  close_others(kept);
}

}  // namespace

void close_others(std::vector<int> kept) {
  std::sort(kept.begin(), kept.end());
  unsigned from = 3;
  for (const int fd : kept) {
    if (fd < 3) continue;
    if (static_cast<unsigned>(fd) > from) files::close_between(from, static_cast<unsigned>(fd) - 1);
    from = std::max(from, static_cast<unsigned>(fd) + 1);
  }
  files::close_between(from, ~0U);
}

pid_t own_pid(int proc) {
  char link[32] = {};
  if (readlinkat(proc, "self", link, sizeof link - 1) <= 0) return -1;
  return std::atoi(link);
}

bool asks_for_threads(const sandbox::Room& room, const Program& program) {
  const bool can_ask = room.counts || room.landlock_abi > 0;  // kernels that have these let the asked say yes
  return program.profile == seccomp::Profile::submission && program.threads && !program.instead &&
      program.limits.threads != unlimited && room.seccomp && can_ask;
}

void arrange_shared_mounts(const sandbox::Room& room) {
  Program any;
  any.folder = room.shared;
  arrange_mounts(room, any);
}

void become(const sandbox::Room& room, const Program& program, int proc, int news, int starts) {
  News message = {own_pid(proc), 0};
  try {
    confine(room, program);
    keep_descriptors(room, program, news, starts);
    reset_signals(program);
    if (program.instead) be_as_after_a_start();
    message.started_us = sys::now_us();
    if (write(news, &message, sizeof message) != sizeof message) sys::fail_errno("tell the supervisor");
    filter_calls(room, program, starts);
    program.instead ? go_on(program, news) : execute(room, program);
  } catch (const sys::Failure& failure) {
    // Behind a message whatever comes next is what went wrong; before one, an empty message goes first.
    const std::string text = message.started_us ? failure.text : std::string(sizeof message, '\0') + failure.text;
    const ssize_t ignored = write(news, text.data(), text.size());
    static_cast<void>(ignored);
  }
  _exit(127);
}

sys::Fd take_starts(int socket) {
  char letter, room[CMSG_SPACE(sizeof(int))] = {};
  iovec text = {&letter, 1};
  msghdr message = {};
  message.msg_iov = &text, message.msg_iovlen = 1, message.msg_control = room, message.msg_controllen = sizeof room;
  const cmsghdr* const head = recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT) == 1 ? CMSG_FIRSTHDR(&message)
      : nullptr;
  int taken = -1;
  if (head && head->cmsg_type == SCM_RIGHTS) std::memcpy(&taken, CMSG_DATA(head), sizeof taken);
  return sys::Fd(taken);
}

News await_start(int news) {
  std::string said;
  char buffer[512];
  for (ssize_t length; (length = read(news, buffer, sizeof buffer)) > 0;)
    said.append(buffer, static_cast<size_t>(length));
  News message;
  if (said.size() > sizeof message) sys::fail(said.substr(sizeof message));
  if (said.size() < sizeof message) sys::fail("the program could not be started");
  std::memcpy(&message, said.data(), sizeof message);
  return message;
}

}  // namespace process
