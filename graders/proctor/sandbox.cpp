#include "sandbox.hpp"

#include <algorithm>
#include <cstdio>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>

#include "files.hpp"
#include "mounts.hpp"
#include "text.hpp"
#include "json.hpp"
#include "seccomp.hpp"

namespace sandbox {
namespace {

constexpr long default_uid = 65534;

// Folders of the system with programs, libraries and their configuration. Not all of /etc, because it has names of
// users and hosts.
const char* const system_folders[] = {"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"};
const char* const system_files[] = {"/etc/alternatives", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d",
    "/etc/localtime",
    // Configuration of a distribution's Free Pascal.
    "/etc/fpc.cfg", "/etc/fpc-3.0.4.cfg", "/etc/fpc-3.2.0.cfg", "/etc/fpc-3.2.2.cfg"};
// A distribution's Java has its configuration below /etc, and links to it.
constexpr int oldest_java = 8, newest_java = 40;
// Not /dev/zero: memory that is mapped from it may be in no process's resident set.
const std::vector<const char*> all_devices = {"/dev/null", "/dev/full", "/dev/random", "/dev/urandom"},
                               no_devices = {"/dev/null"};

std::vector<std::string> list_configuration_files() {
  std::vector<std::string> paths(std::begin(system_files), std::end(system_files));
  for (int version = oldest_java; version <= newest_java; ++version)
    paths.push_back("/etc/java-" + std::to_string(version) + "-openjdk");
  return paths;
}

bool write_file(const char* path, const std::string& content) {
  const sys::Fd fd(open(path, O_WRONLY | O_CLOEXEC));
  return fd.valid() && write(fd.get(), content.data(), content.size()) == static_cast<ssize_t>(content.size());
}

// Returns the line of an id map. Uid 0 is not mapped inside, because its programs would start with all capabilities of
// the namespace.
std::string format_id_map_line(unsigned outside_id) {
  return std::to_string(outside_id ? outside_id : default_uid) + " " + std::to_string(outside_id) + " 1";
}

// Returns an empty string, or why the namespace could not be entered.
std::string try_enter_user_namespace(int additional_namespaces) {
  const std::string uid = format_id_map_line(geteuid()), gid = format_id_map_line(getegid());
  prctl(PR_SET_DUMPABLE, 1);  // otherwise the maps below belong to root; nothing untrusted runs yet
  if (unshare(CLONE_NEWUSER | CLONE_NEWNS | additional_namespaces) != 0) return sys::errno_message("user namespace");
  write_file("/proc/self/setgroups", "deny");
  if (!write_file("/proc/self/uid_map", uid)) return sys::errno_message("uid map");
  if (!write_file("/proc/self/gid_map", gid)) return sys::errno_message("gid map");
  if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return sys::errno_message("mount namespace");
  return "";
}

// Reopens host files on read-only mounts. A program can reopen a descriptor through the mount on which it was opened,
// and the file's owner may write there. The read-only mounts disappear with the old root.
void reopen_host_files_read_only(const std::vector<OpenHostFile>& host_files) {
  for (const OpenHostFile& file : host_files) {
    struct stat before, after;
    if (fstat(file.fd, &before) != 0) sys::fail_errno("cannot reopen " + file.path + " read-only");
    if (mount(file.path.c_str(), file.path.c_str(), nullptr, MS_BIND, nullptr) != 0)
      sys::fail_errno("cannot reopen " + file.path + " read-only");
    mounts::make_read_only(file.path);
    const sys::Fd reopened(open(file.path.c_str(), O_RDONLY | O_CLOEXEC));
    const bool is_unchanged = reopened.valid() && fstat(reopened.get(), &after) == 0 && after.st_ino == before.st_ino &&
        after.st_dev == before.st_dev;
    if (!is_unchanged || dup3(reopened.get(), file.fd, O_CLOEXEC) < 0)
      sys::fail("cannot reopen " + file.path + " read-only: it has changed");
  }
}

// Returns the files that belong to this user. Must be called before a namespace is entered: there, all unmapped users
// have the same uid, which may be this user's.
std::vector<OpenHostFile> select_files_of_current_user(const std::vector<OpenHostFile>& host_files) {
  std::vector<OpenHostFile> own_files;
  for (const OpenHostFile& file : host_files) {
    struct stat status;
    if (fstat(file.fd, &status) == 0 && status.st_uid == geteuid()) own_files.push_back(file);
  }
  return own_files;
}

std::string find_staging_folder() {
  for (const char* candidate : {"/tmp", "/mnt", "/run", "/var"})
    if (access(candidate, F_OK) == 0) return candidate;
  sys::fail("no folder to build the root in: /tmp is missing");
}

// Mounts an empty file system over a folder, to become the root, and returns its path.
std::string mount_empty_root() {
  const std::string root = find_staging_folder();
  if (mount("proctor", root.c_str(), "tmpfs", MS_NOSUID, "mode=0755,size=1m") != 0)
    sys::fail_errno("cannot make a root");
  return root;
}

// Makes `root` the root folder, and unmounts the old root.
void change_root_to(const std::string& root) {
  if (chdir(root.c_str()) != 0 || syscall(SYS_pivot_root, ".", ".") != 0 || umount2(".", MNT_DETACH) != 0)
    sys::fail_errno("cannot change the root");
}

// Builds a root with only the system's programs, a few devices, and the job's folder at /job.
void build_root_folder(const std::string& job_folder, std::vector<mounts::HostPath>& readable_paths,
    const std::vector<const char*>& devices) {
  const sys::Fd folder(open(job_folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!folder.valid()) sys::fail_errno("cannot open " + job_folder);
  // These paths may be below the folder that is about to be covered, so they are mounted by their descriptors.
  for (mounts::HostPath& path : readable_paths)
    if (!path.is_detached_mount && path.link.empty()) path = mounts::open_host_path(path.path);
  const std::string source = mounts::make_fd_path(folder), root = mount_empty_root();
  for (const char* name : {"/job", "/box", "/proc", "/tmp", "/dev"}) mkdir((root + name).c_str(), 0755);
  for (const char* path : system_folders) mounts::bind_host_path(root, mounts::open_host_path(path), true);
  for (const std::string& path : list_configuration_files())
    mounts::bind_host_path(root, mounts::open_host_path(path), true);
  for (const mounts::HostPath& path : readable_paths) mounts::bind_host_path(root, path, true);
  for (const char* path : devices) mounts::bind_host_path(root, mounts::open_host_path(path), false);
  const char* const links[][2] = {{"/proc/self/fd", "/dev/fd"}, {"/proc/self/fd/0", "/dev/stdin"},
      {"/proc/self/fd/1", "/dev/stdout"}, {"/proc/self/fd/2", "/dev/stderr"}};
  for (const auto& link : links)
    if (symlink(link[0], (root + link[1]).c_str()) != 0) sys::fail_errno("cannot link " + std::string(link[1]));
  mounts::bind_mount(source, root + "/job");
  mounts::bind_mount("/proc", root + "/proc");
  if (mount(nullptr, root.c_str(), nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID, nullptr) != 0)
    sys::fail_errno("cannot make the root read-only");
  change_root_to(root);
  if (chdir("/job") != 0) sys::fail_errno("cannot enter the job's folder");
}

// Returns whether this kernel executes a descriptor only if /dev/fd/N exists, like older Debian kernels with TOMOYO.
bool needs_fd_path_for_exec() {
  umount2("/proc", MNT_DETACH);
  umount2("/proc", MNT_DETACH);
  char* const empty_argv[] = {nullptr};
  const sys::Fd empty_program = files::make_memory_file("nothing");
  return syscall(SYS_execveat, empty_program.get(), "", empty_argv, empty_argv, AT_EMPTY_PATH) != 0 && errno == ENOENT;
}

// Exit codes of the process that tries namespaces. Any other code means that it died, such as the sanitizers' 1.
constexpr int exit_available = 60, exit_exec_needs_fd_path = 61, exit_refused = 62;

bool is_namespace_trial_status(int wait_status) {
  return WIFEXITED(wait_status) && WEXITSTATUS(wait_status) >= exit_available &&
      WEXITSTATUS(wait_status) <= exit_refused;
}

// Writes the reason of a refusal to the pipe, and returns the exit code for it.
int refuse_with_exit_code(int pipe_fd, const std::string& reason) {
  const ssize_t ignored = write(pipe_fd, reason.data(), reason.size());
  static_cast<void>(ignored);
  return exit_refused;
}

// Tries a pid namespace with a new /proc. The kernel refuses that if part of the visible /proc is covered, as in
// containers. Returns the exit code.
int run_pid_namespace_trial(int pipe_fd) {
  const std::string root = mount_empty_root();
  mkdir((root + "/proc").c_str(), 0755);
  mounts::bind_mount("/proc", root + "/proc");
  change_root_to(root);
  const long child = sys::retry_while_eagain(
      [] { return syscall(SYS_clone, SIGCHLD | CLONE_NEWPID | CLONE_NEWNS, nullptr, nullptr, nullptr, nullptr); });
  if (child < 0) return refuse_with_exit_code(pipe_fd, sys::errno_message("pid namespace"));
  if (child == 0) {
    if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) != 0)
      _exit(refuse_with_exit_code(pipe_fd, sys::errno_message("own /proc")));
    _exit(needs_fd_path_for_exec() ? exit_exec_needs_fd_path : exit_available);
  }
  int status = 0;
  waitpid(static_cast<pid_t>(child), &status, 0);
  return is_namespace_trial_status(status) ? WEXITSTATUS(status)
                                           : refuse_with_exit_code(pipe_fd, "pid namespace: its first process died");
}

// The result of trying all namespaces in another process.
struct NamespaceTrial {
  std::string refusal;  // the layer that the kernel refused, and the reason; empty if it permitted all
  bool exec_needs_fd_path;
};

// Tries all namespaces in another process, because a process cannot leave a namespace, and some of them are useful only
// together: without a new /proc, a program cannot open descriptors by path, as checkers and FIFOs need.
NamespaceTrial try_namespaces() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) sys::fail_errno("cannot make a pipe");
  const sys::Fd read_end(ends[0]), write_end(ends[1]);
  const pid_t child = static_cast<pid_t>(sys::retry_while_eagain(fork));
  if (child < 0) sys::fail_errno("cannot fork");
  if (child == 0) {
    const std::string refusal = try_enter_user_namespace(0);
    try {
      _exit(refusal.empty() ? run_pid_namespace_trial(ends[1]) : refuse_with_exit_code(ends[1], refusal));
    } catch (const sys::Failure& failure) {
      _exit(refuse_with_exit_code(ends[1], "mount namespace: " + failure.message));
    }
  }
  int status = 0;
  waitpid(child, &status, 0);
  const int exit_code = is_namespace_trial_status(status)
      ? WEXITSTATUS(status)
      : refuse_with_exit_code(ends[1], "user namespace: the process that tried it died");
  char reason[256];
  const ssize_t length = exit_code == exit_refused ? read(read_end.get(), reason, sizeof reason) : 0;
  return {std::string(reason, length > 0 ? static_cast<size_t>(length) : 0), exit_code == exit_exec_needs_fd_path};
}

bool is_kernel_at_least(int major, int minor) {
  utsname system;
  int kernel_major = 0, kernel_minor = 0;
  if (uname(&system) != 0 || std::sscanf(system.release, "%d.%d", &kernel_major, &kernel_minor) != 2) return false;
  return kernel_major > major || (kernel_major == major && kernel_minor >= minor);
}

void enter_namespaces(Sandbox& sandbox, std::vector<mounts::HostPath>& readable_paths,
    const std::vector<const char*>& devices, const std::vector<OpenHostFile>& host_files) {
  const NamespaceTrial trial = try_namespaces();
  const std::string refusal =
      trial.refusal.empty() ? try_enter_user_namespace(CLONE_NEWIPC | CLONE_NEWNET) : trial.refusal;
  if (!refusal.empty()) {
    sandbox.missing_layers.push_back("namespaces: " + refusal);
    return;
  }
  sandbox.has_user_namespace = sandbox.has_net_namespace = sandbox.has_ipc_namespace = true;
  unshare(CLONE_NEWCGROUP);  // since 4.6: hides the names of outer control groups in /proc
  sandbox.counts_own_tasks = is_kernel_at_least(5, 14);
  try {
    reopen_host_files_read_only(host_files);
    build_root_folder(sandbox.job_folder, readable_paths, devices);
    sandbox.has_mount_namespace = sandbox.has_pid_namespace = true;
    sandbox.exec_needs_fd_path = trial.exec_needs_fd_path;
    sandbox.job_folder = "/job";
    for (const mounts::HostPath& path : readable_paths)
      if (path.path.compare(0, 5, "/tmp/") == 0) sandbox.paths_below_tmp.push_back(path.path);
  } catch (const sys::Failure& failure) {
    sandbox.missing_layers.push_back("mount namespace: " + failure.message);
  }
}

// Adds the paths that every program may read to the sandbox's grants.
void grant_system_paths(
    Sandbox& sandbox, const std::vector<mounts::HostPath>& readable_paths, const std::vector<const char*>& devices) {
  const auto add_grant = [&](const char* path, landlock::Access access) {
    sys::Fd fd(open(path, O_PATH | O_CLOEXEC));
    if (fd.valid()) sandbox.system_grants.push_back({std::move(fd), access});
  };
  for (const char* path : system_folders) add_grant(path, landlock::Access::run);
  for (const std::string& path : list_configuration_files()) add_grant(path.c_str(), landlock::Access::read);
  for (const mounts::HostPath& path : readable_paths) add_grant(path.path.c_str(), landlock::Access::run);
  for (const char* path : devices) add_grant(path, landlock::Access::write);
}

std::string format_json_list(const std::vector<std::string>& items) {
  std::string items_json;
  for (const std::string& item : items) items_json += (items_json.empty() ? "" : ",") + json::quote(item);
  return "[" + items_json + "]";
}

bool contains(const std::vector<std::string>& names, const char* name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

SandboxLayers SandboxLayers::parse(const json::Value& document) {
  SandboxLayers layers;
  if (!document.at("layers").is_null()) {
    const std::vector<std::string> names = document.at("layers").as_strings("layers");
    layers.namespaces = contains(names, "namespaces"), layers.landlock = contains(names, "landlock"),
    layers.seccomp = contains(names, "seccomp");
  }
  if (document.at("without").is_null()) return layers;
#ifdef IOI_EVAL_TEST_LAYERS
  layers.disabled = document.at("without").as_strings("without");
  layers.namespaces = layers.namespaces && layers.is_enabled("namespaces");
  layers.landlock = layers.landlock && layers.is_enabled("landlock");
  layers.seccomp = layers.seccomp && layers.is_enabled("seccomp");
  return layers;
#else
  sys::fail("without: layers can be disabled in a test build only");
#endif
}

bool can_drop_privileges() {
  if (geteuid() != 0) return false;
  const sys::Fd fd(open("/proc/self/uid_map", O_RDONLY | O_CLOEXEC));
  char map[256] = {};
  long id_inside = 0, id_outside = 0, count = 0, next_id = 0;
  if (!fd.valid() || read(fd.get(), map, sizeof map - 1) <= 0) return true;
  return std::sscanf(map, "%ld %ld %ld %ld", &id_inside, &id_outside, &count, &next_id) != 3 || count != 1;
}

void drop_privileges(long uid, const SandboxLayers& layers) {
  if (!can_drop_privileges() || !layers.is_enabled("uid")) return;
  const auto unprivileged_id = static_cast<uid_t>(uid > 0 ? uid : default_uid);
  if (setgroups(0, nullptr) != 0 || setresgid(unprivileged_id, unprivileged_id, unprivileged_id) != 0 ||
      setresuid(unprivileged_id, unprivileged_id, unprivileged_id) != 0)
    sys::fail_errno("cannot become an unprivileged user");
}

std::vector<mounts::HostPath> open_readable_paths(const std::vector<std::string>& paths, const SandboxLayers& layers) {
  const bool opens_detached_mounts = layers.namespaces && layers.is_enabled("uid") && can_drop_privileges();
  std::vector<mounts::HostPath> opened;
  for (const std::string& path : paths) opened.push_back(mounts::open_host_path(path, opens_detached_mounts));
  return opened;
}

void make_undumpable(const SandboxLayers& layers) { prctl(PR_SET_DUMPABLE, layers.is_enabled("dumpable") ? 0 : 1); }

Sandbox enter_sandbox(const std::string& job_folder, std::vector<mounts::HostPath> readable_paths, SandboxLayers layers,
    bool allow_unconfined, const std::vector<OpenHostFile>& host_files, bool has_devices) {
  const std::vector<const char*>& device_paths = has_devices ? all_devices : no_devices;
  Sandbox sandbox;
  sandbox.layers = layers;
  sandbox.job_folder = job_folder;
  if (layers.namespaces)
    enter_namespaces(sandbox, readable_paths, device_paths, select_files_of_current_user(host_files));
  sandbox.proc_fd = sys::Fd(open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC));
  sandbox.landlock_abi = layers.landlock ? landlock::find_abi() : 0;
  if (layers.landlock && sandbox.landlock_abi == 0) sandbox.missing_layers.push_back("landlock: this kernel has none");
  sandbox.has_seccomp = layers.seccomp && seccomp::are_filters_available();
  if (layers.seccomp && !sandbox.has_seccomp) sandbox.missing_layers.push_back("seccomp: this kernel has no filters");
  if (sandbox.landlock_abi > 0) grant_system_paths(sandbox, readable_paths, device_paths);
  if (!sandbox.is_confined() && !allow_unconfined)
    sys::fail(
        "this kernel offers neither Landlock nor namespaces, so a submission could read the answers; "
        "--allow-unconfined runs it all the same");
  return sandbox;
}

std::string Sandbox::format_confinement(const std::string& interpreter) const {
  std::vector<std::string> namespaces;
  if (has_user_namespace) namespaces.push_back("user");
  if (has_pid_namespace) namespaces.push_back("pid");
  if (has_mount_namespace) namespaces.push_back("mount");
  if (has_net_namespace) namespaces.push_back("net");
  if (has_ipc_namespace) namespaces.push_back("ipc");
  return "{\"v\":1" + text::format_json_field("uid", geteuid()) + ",\"no_new_privs\":true" +
      text::format_json_field("landlock", landlock_abi) + ",\"seccomp\":" + (has_seccomp ? "true" : "false") +
      ",\"namespaces\":" + format_json_list(namespaces) + ",\"proc\":" + (has_pid_namespace ? "\"own\"" : "\"self\"") +
      ",\"missing\":" + format_json_list(missing_layers) +
      (interpreter.empty() ? "" : ",\"interpreter\":" + json::quote(interpreter)) + "}";
}

}  // namespace sandbox
