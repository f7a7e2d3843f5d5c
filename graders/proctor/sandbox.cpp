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

// Folders of the system that hold programs, libraries and the little configuration that these read. Not /etc as a
// whole: it has names of users and hosts that are nobody's business.
const char* const system_folders[] = {"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"};
const char* const system_files[] =
    {"/etc/alternatives", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/localtime",
     // What a distribution's Free Pascal has outside of /usr.
     "/etc/fpc.cfg", "/etc/fpc-3.0.4.cfg", "/etc/fpc-3.2.0.cfg", "/etc/fpc-3.2.2.cfg"};
// A Java of the distribution keeps its configuration below /etc and links to it.
constexpr int oldest_java = 8, newest_java = 40;
// Not /dev/zero: memory that is mapped of it may be held without being in anybody's resident set.
const std::vector<const char*> all_devices = {"/dev/null", "/dev/full", "/dev/random", "/dev/urandom"},
    no_devices = {"/dev/null"};

std::vector<std::string> readable_files() {
  std::vector<std::string> all(std::begin(system_files), std::end(system_files));
  for (int version = oldest_java; version <= newest_java; ++version)
    all.push_back("/etc/java-" + std::to_string(version) + "-openjdk");
  return all;
}

bool write_file(const char* path, const std::string& content) {
  const sys::Fd fd(open(path, O_WRONLY | O_CLOEXEC));
  return fd.valid() && write(fd.get(), content.data(), content.size()) == static_cast<ssize_t>(content.size());
}

// Inside nobody is uid 0, whose programs would start with all capabilities of the namespace.
std::string id_map(unsigned outside) {
  return std::to_string(outside ? outside : default_uid) + " " + std::to_string(outside) + " 1";
}

std::string enter_user_namespace(int beside) {
  const std::string uid = id_map(geteuid()), gid = id_map(getegid());
  prctl(PR_SET_DUMPABLE, 1);  // otherwise the maps below belong to root; nothing untrusted runs yet
  if (unshare(CLONE_NEWUSER | CLONE_NEWNS | beside) != 0) return sys::reason("user namespace");
  write_file("/proc/self/setgroups", "deny");
  if (!write_file("/proc/self/uid_map", uid)) return sys::reason("uid map");
  if (!write_file("/proc/self/gid_map", gid)) return sys::reason("gid map");
  if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return sys::reason("mount namespace");
  return "";
}

// What is open is found again through the mount that it was opened on, and there its owner may write. So it is opened
// once more on one that is read-only, and that goes with the old root.
void hold_read_only(const std::vector<Held>& held) {
  for (const Held& file : held) {
    struct stat before, after;
    if (fstat(file.fd, &before) != 0) sys::fail_errno("cannot hold " + file.path);
    if (mount(file.path.c_str(), file.path.c_str(), nullptr, MS_BIND, nullptr) != 0)
      sys::fail_errno("cannot hold " + file.path);
    mounts::make_read_only(file.path);
    const sys::Fd again(open(file.path.c_str(), O_RDONLY | O_CLOEXEC));
    const bool same = again.valid() && fstat(again.get(), &after) == 0 && after.st_ino == before.st_ino &&
        after.st_dev == before.st_dev;
    if (!same || dup3(again.get(), file.fd, O_CLOEXEC) < 0) sys::fail("cannot hold " + file.path + ": it has changed");
  }
}

// Asked before there is a namespace: in one all strangers have the same number, which may be our own.
std::vector<Held> own_of(const std::vector<Held>& held) {
  std::vector<Held> own;
  for (const Held& file : held) {
    struct stat status;
    if (fstat(file.fd, &status) == 0 && status.st_uid == geteuid()) own.push_back(file);
  }
  return own;
}

std::string staging_folder() {
  for (const char* candidate : {"/tmp", "/mnt", "/run", "/var"})
    if (access(candidate, F_OK) == 0) return candidate;
  sys::fail("no folder to build the root in: /tmp is missing");
}

// An empty root to be, over a folder.
std::string begin_root() {
  const std::string root = staging_folder();
  if (mount("proctor", root.c_str(), "tmpfs", MS_NOSUID, "mode=0755,size=1m") != 0)
    sys::fail_errno("cannot make a root");
  return root;
}

// Nothing of the old root is left.
void turn_to(const std::string& root) {
  if (chdir(root.c_str()) != 0 || syscall(SYS_pivot_root, ".", ".") != 0 || umount2(".", MNT_DETACH) != 0)
    sys::fail_errno("cannot change the root");
}

// A root with nothing but the system's programs, a handful of devices, and the job's folder at /job.
void build_root(const std::string& job, std::vector<mounts::Shown>& readable,
    const std::vector<const char*>& devices) {
  const sys::Fd folder(open(job.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!folder.valid()) sys::fail_errno("cannot open " + job);
  // All of these may lie below the place that is about to be covered, so they are bound by their descriptors.
  for (mounts::Shown& shown : readable)
    if (!shown.is_tree && shown.link.empty()) shown = mounts::open_shown(shown.path);
  const std::string source = mounts::of_descriptor(folder), root = begin_root();
  for (const char* name : {"/job", "/box", "/proc", "/tmp", "/dev"}) mkdir((root + name).c_str(), 0755);
  for (const char* path : system_folders) mounts::show(root, mounts::open_shown(path), true);
  for (const std::string& path : readable_files()) mounts::show(root, mounts::open_shown(path), true);
  for (const mounts::Shown& shown : readable) mounts::show(root, shown, true);
  for (const char* path : devices) mounts::show(root, mounts::open_shown(path), false);
  const char* const links[][2] =
      {{"/proc/self/fd", "/dev/fd"}, {"/proc/self/fd/0", "/dev/stdin"}, {"/proc/self/fd/1", "/dev/stdout"},
          {"/proc/self/fd/2", "/dev/stderr"}};
  for (const auto& link : links)
    if (symlink(link[0], (root + link[1]).c_str()) != 0) sys::fail_errno("cannot link " + std::string(link[1]));
  mounts::bind_mount(source, root + "/job");
  mounts::bind_mount("/proc", root + "/proc");
  if (mount(nullptr, root.c_str(), nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID, nullptr) != 0)
    sys::fail_errno("cannot make the root read-only");
  turn_to(root);
  if (chdir("/job") != 0) sys::fail_errno("cannot enter the job's folder");
}

// Whether this kernel (with TOMOYO, as older Debian kernels) starts an open file only if /dev/fd/N leads to something.
bool starts_by_name_only() {
  umount2("/proc", MNT_DETACH);
  umount2("/proc", MNT_DETACH);
  char* const none[] = {nullptr};
  const sys::Fd no_program = files::memory("nothing");
  return syscall(SYS_execveat, no_program.get(), "", none, none, AT_EMPTY_PATH) != 0 && errno == ENOENT;
}

// What a process that tries namespaces ends with; with anything else it died of something, as sanitizers' 1.
constexpr int all_there = 60, by_name_there = 61, refused = 62;

bool has_said(int status) {
  return WIFEXITED(status) && WEXITSTATUS(status) >= all_there && WEXITSTATUS(status) <= refused;
}

int refusal(int told, const std::string& why) {
  const ssize_t ignored = write(told, why.data(), why.size());
  static_cast<void>(ignored);
  return refused;
}

// Whether a program can have a pid namespace and a /proc of its own, which the kernel refuses where a part of all that
// it sees of the present one is covered, as containers cover it.
int try_pid_namespace(int told) {
  const std::string root = begin_root();
  mkdir((root + "/proc").c_str(), 0755);
  mounts::bind_mount("/proc", root + "/proc");
  turn_to(root);
  const long child = sys::made([] {
      return syscall(SYS_clone, SIGCHLD | CLONE_NEWPID | CLONE_NEWNS, nullptr, nullptr, nullptr, nullptr); });
  if (child < 0) return refusal(told, sys::reason("pid namespace"));
  if (child == 0) {
    if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) != 0)
      _exit(refusal(told, sys::reason("own /proc")));
    _exit(starts_by_name_only() ? by_name_there : all_there);
  }
  int status = 0;
  waitpid(static_cast<pid_t>(child), &status, 0);
  return has_said(status) ? WEXITSTATUS(status) : refusal(told, "pid namespace: its first process died");
}

struct Trial {
  std::string wrong;  // the layer that is refused, and why
  bool by_name;
};

// Whoever has entered a namespace cannot leave it, and some without the others are worth less than none: a program
// without /proc has no open files by name, as checkers and FIFOs need them. So another process tries them all.
Trial try_namespaces() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) sys::fail_errno("pipe");
  const sys::Fd reading(ends[0]), writing(ends[1]);
  const pid_t child = static_cast<pid_t>(sys::made(fork));
  if (child < 0) sys::fail_errno("fork");
  if (child == 0) {
    const std::string wrong = enter_user_namespace(0);
    try {
      _exit(wrong.empty() ? try_pid_namespace(ends[1]) : refusal(ends[1], wrong));
    } catch (const sys::Failure& failure) {
      _exit(refusal(ends[1], "mount namespace: " + failure.text));
    }
  }
  int status = 0;
  waitpid(child, &status, 0);
  const int found = has_said(status) ? WEXITSTATUS(status) : refusal(ends[1], "user namespace: whoever tried it died");
  char why[256];
  const ssize_t length = found == refused ? read(reading.get(), why, sizeof why) : 0;
  return {std::string(why, length > 0 ? static_cast<size_t>(length) : 0), found == by_name_there};
}

bool kernel_since(int major, int minor) {
  utsname names;
  int has_major = 0, has_minor = 0;
  if (uname(&names) != 0 || std::sscanf(names.release, "%d.%d", &has_major, &has_minor) != 2) return false;
  return has_major > major || (has_major == major && has_minor >= minor);
}

void enter_namespaces(Room& room, std::vector<mounts::Shown>& readable, const std::vector<const char*>& devices,
    const std::vector<Held>& held) {
  const Trial trial = try_namespaces();
  const std::string wrong = trial.wrong.empty() ? enter_user_namespace(CLONE_NEWIPC | CLONE_NEWNET) : trial.wrong;
  if (!wrong.empty()) {
    room.missing.push_back("namespaces: " + wrong);
    return;
  }
  room.user = room.net = room.ipc = true;
  unshare(CLONE_NEWCGROUP);  // since 4.6: /proc shows the names of groups from here on alone
  room.counts = kernel_since(5, 14);
  try {
    hold_read_only(held);
    build_root(room.job, readable, devices);
    room.mount = room.pid = true;
    room.by_name = trial.by_name;
    room.job = "/job";
    for (const mounts::Shown& shown : readable)
      if (shown.path.compare(0, 5, "/tmp/") == 0) room.below_tmp.push_back(shown.path);
  } catch (const sys::Failure& failure) {
    room.missing.push_back("mount namespace: " + failure.text);
  }
}

void grant_system(Room& room, const std::vector<mounts::Shown>& readable, const std::vector<const char*>& devices) {
  const auto grant = [&](const char* path, landlock::Access access) {
    sys::Fd fd(open(path, O_PATH | O_CLOEXEC));
    if (fd.valid()) room.system.push_back({std::move(fd), access});
  };
  for (const char* path : system_folders) grant(path, landlock::Access::run);
  for (const std::string& path : readable_files()) grant(path.c_str(), landlock::Access::read);
  for (const mounts::Shown& shown : readable) grant(shown.path.c_str(), landlock::Access::run);
  for (const char* path : devices) grant(path, landlock::Access::write);
}

std::string quoted_list(const std::vector<std::string>& items) {
  std::string all;
  for (const std::string& item : items) all += (all.empty() ? "" : ",") + json::quote(item);
  return "[" + all + "]";
}

bool has(const std::vector<std::string>& names, const char* name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

Layers Layers::of(const json::Value& document) {
  Layers layers;
  if (!document.at("layers").is_null()) {
    const std::vector<std::string> names = document.at("layers").texts("layers");
    layers.namespaces = has(names, "namespaces"), layers.landlock = has(names, "landlock"),
        layers.seccomp = has(names, "seccomp");
  }
  if (document.at("without").is_null()) return layers;
#ifdef IOI_EVAL_TEST_LAYERS
  layers.without = document.at("without").texts("without");
  layers.namespaces = layers.namespaces && layers.on("namespaces");
  layers.landlock = layers.landlock && layers.on("landlock");
  layers.seccomp = layers.seccomp && layers.on("seccomp");
  return layers;
#else
  sys::fail("without: a layer can be taken away in a test build only");
#endif
}

bool can_drop_privileges() {
  if (geteuid() != 0) return false;
  const sys::Fd fd(open("/proc/self/uid_map", O_RDONLY | O_CLOEXEC));
  char map[256] = {};
  long inside = 0, outside = 0, count = 0, another = 0;
  if (!fd.valid() || read(fd.get(), map, sizeof map - 1) <= 0) return true;
  return std::sscanf(map, "%ld %ld %ld %ld", &inside, &outside, &count, &another) != 3 || count != 1;
}

void drop_privileges(long uid, const Layers& layers) {
  if (!can_drop_privileges() || !layers.on("uid")) return;
  const auto id = static_cast<uid_t>(uid > 0 ? uid : default_uid);
  if (setgroups(0, nullptr) != 0 || setresgid(id, id, id) != 0 || setresuid(id, id, id) != 0)
    sys::fail_errno("cannot become an unprivileged user");
}

std::vector<mounts::Shown> open_for_others(const std::vector<std::string>& paths, const Layers& layers) {
  const bool as_tree = layers.namespaces && layers.on("uid") && can_drop_privileges();
  std::vector<mounts::Shown> all;
  for (const std::string& path : paths) all.push_back(mounts::open_shown(path, as_tree));
  return all;
}

void close_to_others(const Layers& layers) { prctl(PR_SET_DUMPABLE, layers.on("dumpable") ? 0 : 1); }

Room enter(const std::string& job, std::vector<mounts::Shown> readable, Layers layers, bool allow_unconfined,
           const std::vector<Held>& held, bool devices) {
  const std::vector<const char*>& shown = devices ? all_devices : no_devices;
  Room room;
  room.layers = layers;
  room.job = job;
  if (layers.namespaces) enter_namespaces(room, readable, shown, own_of(held));
  room.proc = sys::Fd(open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC));
  room.landlock_abi = layers.landlock ? landlock::abi() : 0;
  if (layers.landlock && room.landlock_abi == 0) room.missing.push_back("landlock: this kernel has none");
  room.seccomp = layers.seccomp && seccomp::available();
  if (layers.seccomp && !room.seccomp) room.missing.push_back("seccomp: this kernel has no filters");
  if (room.landlock_abi > 0) grant_system(room, readable, shown);
  if (!room.confined() && !allow_unconfined)
    sys::fail("this kernel offers neither Landlock nor namespaces, so a submission could read the answers; "
              "--allow-unconfined runs it all the same");
  return room;
}

std::string Room::report(const std::string& interpreter) const {
  std::vector<std::string> namespaces;
  if (user) namespaces.push_back("user");
  if (pid) namespaces.push_back("pid");
  if (mount) namespaces.push_back("mount");
  if (net) namespaces.push_back("net");
  if (ipc) namespaces.push_back("ipc");
  return "{\"v\":1" + text::field("uid", geteuid()) + ",\"no_new_privs\":true" + text::field("landlock", landlock_abi) +
         ",\"seccomp\":" + (seccomp ? "true" : "false") + ",\"namespaces\":" + quoted_list(namespaces) +
         ",\"proc\":" + (pid ? "\"own\"" : "\"self\"") + ",\"missing\":" + quoted_list(missing) +
         (interpreter.empty() ? "" : ",\"interpreter\":" + json::quote(interpreter)) + "}";
}

}  // namespace sandbox
