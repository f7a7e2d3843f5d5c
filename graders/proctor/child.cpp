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

constexpr const char* program_folder_mount = "/box";

void set_resource_limit(int resource, int64_t value) {
  rlimit current;
  if (value == unlimited || getrlimit(static_cast<__rlimit_resource_t>(resource), &current) != 0) return;
  const auto allowed = std::min<rlim_t>(static_cast<rlim_t>(value), current.rlim_max);
  const rlimit new_limit = {allowed, allowed};
  setrlimit(static_cast<__rlimit_resource_t>(resource), &new_limit);
}

// Raises the stack limit to its hard limit.
void unlimit_stack() {
  rlimit stack;
  if (getrlimit(RLIMIT_STACK, &stack) != 0) return;
  stack.rlim_cur = stack.rlim_max;
  setrlimit(RLIMIT_STACK, &stack);
}

// Returns the number in a file of /proc, or `unlimited` if it cannot be read.
int64_t read_number_in_proc(const sandbox::Sandbox& sandbox, const char* name, const char* format) {
  const sys::Fd fd(openat(sandbox.proc_fd.get(), name, O_RDONLY | O_CLOEXEC));
  char line[128] = {};
  long long number = 0;
  if (!fd.valid() || read(fd.get(), line, sizeof line - 1) <= 0) return unlimited;
  return std::sscanf(line, format, &number) == 1 ? number : unlimited;
}

// Returns the number of processes and threads of all users, or `unlimited` if it cannot be read.
int64_t count_machine_tasks(const sandbox::Sandbox& sandbox) {
  return read_number_in_proc(sandbox, "loadavg", "%*s %*s %*s %*d/%lld");
}

// Returns a limit far above what any submission may have. The exact limit is the supervisor's. The value does not
// depend on the machine's other tasks, so that the submission learns nothing about them.
int64_t choose_submission_nproc_limit(const sandbox::Sandbox& sandbox, const Program& program) {
  if (!program.may_use_threads && program.max_processes <= 1) return unlimited;
  if (sandbox.counts_own_tasks) return program.limits.threads == unlimited ? 4096 : program.limits.threads + 4096;
  const int64_t max_pid = read_number_in_proc(sandbox, "sys/kernel/pid_max", "%lld");
  return max_pid == unlimited ? unlimited : max_pid / 4;
}

// Returns the value for RLIMIT_NPROC. In a separate user namespace, only the program's tasks count. Otherwise all
// tasks of the same user count, so the supervisor has the exact limit, and this limit is far above it. It leaves enough
// pids for other processes if the program starts many between two checks.
int64_t choose_nproc_limit(const sandbox::Sandbox& sandbox, const Program& program) {
  if (program.profile == seccomp::Profile::submission) return choose_submission_nproc_limit(sandbox, program);
  const int64_t reserved_tasks = program.starts_sandboxes ? 16384 : 4096;
  const int64_t limit = program.limits.processes;
  if (limit == unlimited || sandbox.counts_own_tasks) return limit;
  const int64_t system_tasks = count_machine_tasks(sandbox);
  return system_tasks == unlimited ? unlimited : system_tasks + limit + reserved_tasks;
}

void set_resource_limits(const sandbox::Sandbox& sandbox, const Program& program, int64_t max_tasks) {
  const sandbox::SandboxLayers& layers = sandbox.layers;
  const Limits& limits = program.limits;
  unlimit_stack();
  // Not 0: if the system pipes core dumps to a program, only 1 prevents that.
  if (layers.is_enabled("rlimit-core")) set_resource_limit(RLIMIT_CORE, 1);
  if (layers.is_enabled("rlimit-memlock")) set_resource_limit(RLIMIT_MEMLOCK, 0);
  if (layers.is_enabled("rlimit-msgqueue")) set_resource_limit(RLIMIT_MSGQUEUE, 0);
  // Pending signals are counted per user. A limit that can be reached would show how many signals of other processes
  // are pending. 0 is always reached.
  if (program.profile == seccomp::Profile::submission && layers.is_enabled("rlimit-sigpending"))
    set_resource_limit(RLIMIT_SIGPENDING, 0);
  if (layers.is_enabled("rlimit-nofile")) set_resource_limit(RLIMIT_NOFILE, limits.open_files);
  if (layers.is_enabled("rlimit-fsize")) set_resource_limit(RLIMIT_FSIZE, limits.file_size_bytes);
#ifndef __SANITIZE_ADDRESS__  // its shadow memory uses terabytes of addresses
  if (layers.is_enabled("rlimit-as")) set_resource_limit(RLIMIT_AS, limits.address_space_bytes);
#endif
  // A fallback if the supervisor gets no CPU time: two seconds after it would have killed the program.
  if (limits.cpu_us != unlimited && layers.is_enabled("rlimit-cpu"))
    set_resource_limit(RLIMIT_CPU, find_cpu_limit_us(limits, true) / 1000000 + 2);
  if (layers.is_enabled("rlimit-nproc")) set_resource_limit(RLIMIT_NPROC, max_tasks);
}

// Makes the program's input, output and error its descriptors 0, 1 and 2.
void place_standard_descriptors(const Program& program) {
  const int source_fds[] = {program.input, program.output, program.error};
  // The descriptors are copied to free numbers first, so that no copy overwrites another descriptor.
  int free_fds[3];
  for (int i = 0; i < 3; ++i) {
    free_fds[i] = source_fds[i] >= 0 ? fcntl(source_fds[i], F_DUPFD_CLOEXEC, 3) : open("/dev/null", O_RDWR | O_CLOEXEC);
    if (free_fds[i] < 0) sys::fail_errno("cannot place standard descriptor " + std::to_string(i));
  }
  for (int i = 0; i < 3; ++i)
    if (dup2(free_fds[i], i) < 0) sys::fail_errno("cannot place standard descriptor " + std::to_string(i));
}

void mount_or_fail(const std::string& source, const std::string& target, const char* type, unsigned long flags,
    const std::string& data) {
  if (mount(source.c_str(), target.c_str(), type, flags, data.empty() ? nullptr : data.c_str()) != 0)
    sys::fail_errno("cannot mount on " + target);
}

constexpr const char* job_folder_mount = "/job";  // the job's folder, which is unmounted before a program starts

void bind_path(const std::string& source, const std::string& target, bool is_writable) {
  mount_or_fail(source, target, nullptr, MS_BIND | MS_REC, "");
  if (!is_writable) mount_or_fail("", target, nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV, "");
}

// Mounts a /proc that contains only the program's open descriptors, or only an empty file with the number of its
// program file.
void mount_reduced_proc(const Program& program) {
  constexpr unsigned long flags = MS_NOSUID | MS_NODEV | MS_NOEXEC;
  const std::string descriptors = "/proc/self/fd";
  mount_or_fail("proc", "/proc", "tmpfs", flags, "mode=0755,size=4k,nr_inodes=8");
  for (const char* folder : {"/proc/self", descriptors.c_str()})
    if (mkdir(folder, 0755) != 0) sys::fail_errno(std::string("cannot make ") + folder);
  if (program.sees_own_descriptors)
    mount_or_fail(job_folder_mount, descriptors, nullptr, MS_MOVE, "");
  else if (mknod((descriptors + "/" + std::to_string(program.executable)).c_str(), S_IFREG, 0) != 0)
    sys::fail_errno("cannot make a name for the program");
  mount_or_fail("", "/proc", nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY | flags, "");
}

// Mounts a new /tmp. Readable paths below /tmp stay visible in it.
void mount_tmp(const sandbox::Sandbox& sandbox, const std::string& size) {
  std::vector<mounts::HostPath> covered_paths;
  for (const std::string& path : sandbox.paths_below_tmp) covered_paths.push_back(mounts::open_host_path(path));
  mount_or_fail("tmp", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, "mode=0700,nr_inodes=100k,size=" + size);
  for (const mounts::HostPath& path : covered_paths) mounts::bind_host_path("", path, true);
}

// Sets up the mounts of the program's namespace: its folder is visible as /box, and the job's folder is hidden.
void set_up_mounts(const sandbox::Sandbox& sandbox, const Program& program) {
  if (!program.folder.empty()) {
    const std::string folder = sandbox.job_folder + "/" + program.folder;
    bind_path(folder, program_folder_mount, program.is_folder_writable);
    for (const std::string& name : program.writable_paths)
      bind_path(folder + "/" + name, std::string(program_folder_mount) + "/" + name, true);
  }
  if (!program.tmp_size.empty()) mount_tmp(sandbox, program.tmp_size);
  // The job's folder was mounted only for the steps above.
  if (umount2(job_folder_mount, MNT_DETACH) != 0) sys::fail_errno("cannot hide the job's folder");
  if (program.sees_proc) return;
  if (program.sees_own_descriptors) mount_or_fail("/proc/self/fd", job_folder_mount, nullptr, MS_BIND, "");
  umount2("/proc", MNT_DETACH);  // unmounts the /proc of the supervisor
  umount2("/proc", MNT_DETACH);  // unmounts the /proc of the sandbox
  if (program.sees_own_descriptors || (sandbox.exec_needs_fd_path && program.executable >= 0))
    mount_reduced_proc(program);
}

std::string find_working_folder(const sandbox::Sandbox& sandbox, const Program& program) {
  if (sandbox.has_pid_namespace) return program.folder.empty() ? "/" : program_folder_mount;
  return program.folder.empty() ? "" : sandbox.job_folder + "/" + program.folder;
}

// Permits access to the program's folder, which must be the working folder.
void permit_folder(landlock::Ruleset& ruleset, const Program& program) {
  if (program.folder.empty()) return;
  ruleset.permit_path(".", program.is_folder_writable ? landlock::Access::modify : landlock::Access::run);
  for (const std::string& name : program.writable_paths) {
    struct stat status;
    const bool is_folder = stat(name.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
    ruleset.permit_path(name.c_str(), is_folder ? landlock::Access::modify : landlock::Access::write);
  }
}

// Files of /proc/self. /proc/self/net is excluded, because it lists sockets of other processes.
constexpr const char* proc_files_of_runtimes[] = {"fd", "maps", "stat", "status", "statm", "coredump_filter"};

// Restricts the files that the program may access.
void enforce_landlock(const sandbox::Sandbox& sandbox, const Program& program) {
  if (sandbox.landlock_abi == 0 || (program.starts_sandboxes && sandbox.has_mount_namespace)) return;
  landlock::Ruleset ruleset;
  for (const sandbox::AccessGrant& grant : sandbox.system_grants) ruleset.permit_fd(grant.fd.get(), grant.access);
  permit_folder(ruleset, program);
  if (sandbox.has_pid_namespace && !program.tmp_size.empty()) ruleset.permit_path("/tmp", landlock::Access::modify);
  if (program.executable >= 0) ruleset.permit_fd(program.executable, landlock::Access::run);
  for (const int fd : program.inherited_fds) ruleset.permit_fd(fd, landlock::Access::run);
  if (program.sees_proc || program.sees_own_descriptors)
    ruleset.permit_fd(0, landlock::Access::read);  // the program may open /dev/stdin
  if (program.sees_proc) {
    if (program.profile == seccomp::Profile::submission)
      for (const char* name : proc_files_of_runtimes)
        ruleset.permit_path((std::string("/proc/self/") + name).c_str(), landlock::Access::read);
    else
      ruleset.permit_path(
          program.starts_sandboxes || (program.sees_sandbox_proc && sandbox.has_pid_namespace) ? "/proc" : "/proc/self",
          landlock::Access::read);
  }
  const std::string error = ruleset.enforce_or_explain();
  if (!error.empty()) sys::fail(error);
}

void drop_capabilities() {
  prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct no_capabilities[2] = {};
  if (syscall(SYS_capset, &header, no_capabilities) != 0) sys::fail_errno("cannot drop capabilities");
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) sys::fail_errno("cannot set no_new_privs");
}

// Resets all signals to their defaults, except for an entry point, which has set up its signals already.
void reset_signals(const Program& program) {
  for (int number = 1; number < NSIG && !program.entry_point; ++number) signal(number, SIG_DFL);
  if (program.limits.truncates_output) signal(SIGXFSZ, SIG_IGN);
  sigset_t no_signals;
  sigemptyset(&no_signals);
  sigprocmask(SIG_SETMASK, &no_signals, nullptr);
}

// Exits with a message if a submission's file is not a valid program. That is a runtime error of the submission and not
// a failure of the judge.
void exit_if_program_is_invalid(const Program& program) {
  const int error = errno;
  if (program.profile == seccomp::Profile::submission && program.executable >= 0 &&
      elf::is_invalid_program(program.executable, error)) {
    dprintf(STDERR_FILENO, "the program cannot be started: %s\n", std::strerror(error));
    _exit(127);
  }
  errno = error;
}

std::vector<char*> to_c_strings(const std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (const std::string& string : strings) pointers.push_back(const_cast<char*>(string.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// Executes the program. Returns only by an exception, if the program cannot be started.
void exec_program(const sandbox::Sandbox& sandbox, const Program& program) {
  std::vector<std::string> arguments = program.argv;
  if (program.argument_fd >= 0) arguments.push_back(std::to_string(program.argument_fd));
  const std::vector<char*> argv = to_c_strings(arguments), environment = to_c_strings(program.env);
  char* const* env = sandbox.layers.is_enabled("environment") ? environment.data() : environ;
  // ETXTBSY: the program's writer may still be closing the file. EAGAIN: processes of the same user may just be
  // exiting.
  for (int attempts = 2000; attempts > 0; --attempts) {
    if (program.executable >= 0)
      syscall(SYS_execveat, program.executable, "", argv.data(), env, AT_EMPTY_PATH);
    else
      execve(argv[0], argv.data(), env);
    if (errno != ETXTBSY && errno != EAGAIN) break;
    const timespec pause = {0, 1000 * 1000};
    nanosleep(&pause, nullptr);
  }
  exit_if_program_is_invalid(program);
  sys::fail_errno("cannot start " + program.argv[0]);
}

// Applies all layers of the sandbox except seccomp to the calling process.
void confine_process(const sandbox::Sandbox& sandbox, const Program& program) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (sandbox.layers.is_enabled("session")) setsid();
  if (sandbox.has_pid_namespace && sandbox.shared_folder.empty()) set_up_mounts(sandbox, program);
  const std::string folder = find_working_folder(sandbox, program);
  if (!folder.empty() && chdir(folder.c_str()) != 0) sys::fail_errno("cannot enter " + folder);
  place_standard_descriptors(program);
  for (const int fd : program.inherited_fds) fcntl(fd, F_SETFD, 0);
  if (sandbox.layers.is_enabled("privileges")) drop_capabilities();
  const int64_t max_tasks = choose_nproc_limit(sandbox, program);
  enforce_landlock(sandbox, program);  // before set_resource_limits, because it may need descriptors above that limit
  set_resource_limits(sandbox, program, max_tasks);
}

// Resets the state that an exec resets: the supervisor may inspect the process, and the kernel forgets the list of
// robust futexes, which it would otherwise walk through when the process exits.
void reset_state_like_exec() {
  constexpr size_t robust_list_head_bytes = 3 * sizeof(void*);
  if (prctl(PR_SET_DUMPABLE, 1) != 0 || syscall(SYS_set_robust_list, nullptr, robust_list_head_bytes) != 0)
    sys::fail_errno("cannot reset the state that an exec resets");
}

// Calls the program's entry point, after closing the descriptor that an exec would close.
void call_entry_point(const Program& program, int start_pipe) {
  close(start_pipe);
  program.entry_point(program);
}

// Sends the listener's descriptor to the supervisor.
void send_listener(int socket, const sys::Fd& listener) {
  char payload = 0, control[CMSG_SPACE(sizeof(int))] = {};
  iovec data = {&payload, 1};
  msghdr message = {};
  message.msg_iov = &data, message.msg_iovlen = 1, message.msg_control = control,
  message.msg_controllen = sizeof control;
  cmsghdr* const header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET, header->cmsg_type = SCM_RIGHTS, header->cmsg_len = CMSG_LEN(sizeof(int));
  const int fd = listener.get();
  std::memcpy(CMSG_DATA(header), &fd, sizeof fd);
  if (sendmsg(socket, &message, 0) != 1) sys::fail_errno("cannot send the listener to the supervisor");
}

void install_seccomp(const sandbox::Sandbox& sandbox, const Program& program, int listener_socket) {
  if (program.max_processes > 1 && !sandbox.has_seccomp) sys::fail("processes cannot be counted without seccomp");
  if (!sandbox.has_seccomp) return;
  if (needs_thread_permission(sandbox, program) || program.max_processes > 1) {
    const sys::Fd listener = seccomp::install_process_start_listener(needs_thread_permission(sandbox, program));
    if (listener.valid())
      send_listener(listener_socket, listener);
    else if (program.max_processes > 1)
      sys::fail_errno("processes cannot be counted (Linux 5.5 and newer ask for each)");
  }
  close(listener_socket);
  const bool has_no_namespaces = program.profile == seccomp::Profile::stage && !sandbox.has_user_namespace;
  const std::string error = seccomp::install_filter_or_explain(
      has_no_namespaces ? seccomp::Profile::flat_stage : program.profile, make_seccomp_permissions(program), getpid());
  if (!error.empty()) sys::fail(error);
}

// Closes all descriptors except the program's own. `start_pipe` and the program file are closed by the exec.
void close_unneeded_descriptors(
    const sandbox::Sandbox& sandbox, const Program& program, int start_pipe, int listener_socket) {
  if (!sandbox.layers.is_enabled("descriptors")) {
    for (int fd = 3; fd < 4096; ++fd)
      if (fd != start_pipe && fd != listener_socket) fcntl(fd, F_SETFD, 0);
    return;
  }
  std::vector<int> kept_fds = program.inherited_fds;
  kept_fds.push_back(start_pipe);
  if (listener_socket >= 0) kept_fds.push_back(listener_socket);
  if (program.executable >= 0) kept_fds.push_back(program.executable);
  close_all_except(kept_fds);
}

}  // namespace

void close_all_except(std::vector<int> kept_fds) {
  std::sort(kept_fds.begin(), kept_fds.end());
  unsigned first = 3;
  for (const int fd : kept_fds) {
    if (fd < 3) continue;
    if (static_cast<unsigned>(fd) > first) files::close_fd_range(first, static_cast<unsigned>(fd) - 1);
    first = std::max(first, static_cast<unsigned>(fd) + 1);
  }
  files::close_fd_range(first, ~0U);
}

pid_t find_own_pid(int proc_fd) {
  char link[32] = {};
  if (readlinkat(proc_fd, "self", link, sizeof link - 1) <= 0) return -1;
  return std::atoi(link);
}

bool needs_thread_permission(const sandbox::Sandbox& sandbox, const Program& program) {
  const bool can_ask =
      sandbox.counts_own_tasks || sandbox.landlock_abi > 0;  // kernels with these features can answer "continue"
  return program.profile == seccomp::Profile::submission && program.may_use_threads && !program.entry_point &&
      program.limits.threads != unlimited && sandbox.has_seccomp && can_ask;
}

void set_up_shared_mounts(const sandbox::Sandbox& sandbox) {
  Program program;
  program.folder = sandbox.shared_folder;
  set_up_mounts(sandbox, program);
}

void confine_and_exec(
    const sandbox::Sandbox& sandbox, const Program& program, int proc_fd, int start_pipe, int listener_socket) {
  StartMessage message = {find_own_pid(proc_fd), 0};
  try {
    confine_process(sandbox, program);
    close_unneeded_descriptors(sandbox, program, start_pipe, listener_socket);
    reset_signals(program);
    if (program.entry_point) reset_state_like_exec();
    message.started_us = sys::now_us();
    if (write(start_pipe, &message, sizeof message) != sizeof message)
      sys::fail_errno("cannot report to the supervisor");
    install_seccomp(sandbox, program, listener_socket);
    program.entry_point ? call_entry_point(program, start_pipe) : exec_program(sandbox, program);
  } catch (const sys::Failure& failure) {
    // After a StartMessage, all further bytes are an error message. Otherwise an empty StartMessage is sent first.
    const std::string text = message.started_us ? failure.message : std::string(sizeof message, '\0') + failure.message;
    const ssize_t written_bytes = write(start_pipe, text.data(), text.size());
    static_cast<void>(written_bytes);
  }
  _exit(127);
}

sys::Fd receive_seccomp_listener(int socket) {
  char payload, control[CMSG_SPACE(sizeof(int))] = {};
  iovec data = {&payload, 1};
  msghdr message = {};
  message.msg_iov = &data, message.msg_iovlen = 1, message.msg_control = control,
  message.msg_controllen = sizeof control;
  const cmsghdr* const header =
      recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT) == 1 ? CMSG_FIRSTHDR(&message) : nullptr;
  int fd = -1;
  if (header && header->cmsg_type == SCM_RIGHTS) std::memcpy(&fd, CMSG_DATA(header), sizeof fd);
  return sys::Fd(fd);
}

StartMessage wait_for_start_message(int start_pipe) {
  std::string received;
  char buffer[512];
  for (ssize_t length; (length = read(start_pipe, buffer, sizeof buffer)) > 0;)
    received.append(buffer, static_cast<size_t>(length));
  StartMessage message;
  if (received.size() > sizeof message) sys::fail(received.substr(sizeof message));
  if (received.size() < sizeof message) sys::fail("the program could not be started");
  std::memcpy(&message, received.data(), sizeof message);
  return message;
}

}  // namespace process
