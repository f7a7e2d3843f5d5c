// The surroundings in which confined programs run: namespaces and a root folder of our own making, entered once by the
// proctor itself; each program then gets a pid namespace and a copy of the mounts of its own.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "json.hpp"
#include "landlock.hpp"
#include "mounts.hpp"
#include "sys.hpp"

namespace sandbox {

// Which layers may be used. Tests switch off the three that a kernel may lack, and a test build (IOI_EVAL_TEST_LAYERS)
// any other: that each of them holds what it is said to hold is found out by taking it away. A user never does.
struct Layers {
  bool namespaces = true, landlock = true, seccomp = true;

#ifdef IOI_EVAL_TEST_LAYERS
  std::vector<std::string> disabled;
  bool is_on(const char* name) const { return std::find(disabled.begin(), disabled.end(), name) == disabled.end(); }
#else
  constexpr bool is_on(const char*) const { return true; }
#endif

  // What `layers` and `without` of a plan or a box spec say.
  static Layers parse(const json::Value& document);
};

struct Grant {
  sys::Fd fd;
  landlock::Access access;
};

// Opens what programs are to see of the host while this is root: with the right to mount, also for users who may not
// enter the folders above it.
std::vector<mounts::HostPath> open_readable_paths(const std::vector<std::string>& paths, const Layers& layers);

// A file of the host that is open under a number, which programs may find in /proc.
struct HostFile {
  int fd;
  std::string path;
};

struct Sandbox {
  Layers layers;
  bool has_user_namespace = false, has_mount_namespace = false, has_net_namespace = false,
       has_ipc_namespace = false;  // namespaces entered
  // RLIMIT_NPROC counts what is in the user namespace, and nothing else.
  bool counts_own_tasks = false;
  // Programs get a pid namespace each, and a /proc that shows nothing else.
  bool has_pid_namespace = false;
  bool exec_needs_fd_path = false;  // no program starts whose /dev/fd/N leads nowhere
  int landlock_abi = 0;
  bool has_seccomp = false;
  std::vector<std::string> missing_layers;  // one sentence per layer that the kernel refused
  std::vector<Grant> system_grants;         // what every program may read: the system's folders and harmless devices
  std::vector<std::string> paths_below_tmp;  // paths of what is shown there: a program's own /tmp covers them
  std::string job_folder = ".";             // the job's folder as the proctor sees it from now on
  // The folder of all programs, which see the same mounts; empty: each has mounts of its own.
  std::string shared_folder;
  sys::Fd proc_fd;                      // the /proc that measures are read from

  bool is_confined() const { return has_mount_namespace || (layers.landlock && landlock_abi > 0); }
  std::string confinement_json(
      const std::string& interpreter = "") const;  // the confinement report of docs/protocol.md
};

// Whether this is uid 0 and can be another user. Where no other user is mapped, uid 0 is an ordinary user's name in a
// namespace of his; programs start without its capabilities.
bool can_drop_privileges();

// Becomes an unprivileged user when started by uid 0, because neither modes nor non-dumpability hold against uid 0.
void drop_privileges(long uid, const Layers& layers);

// Nobody but root may look into this process from now on, however much the same user.
void make_undumpable(const Layers& layers);

// Moves the calling process into a new room around the job's folder, as far as the kernel lets it. `readable` are
// further folders of the system that programs may read. Fails where there would be no confinement and that was not
// allowed. `readable` was opened while this was root. `devices`: whether programs see those that can be read.
Sandbox enter(const std::string& job, std::vector<mounts::HostPath> readable, Layers layers, bool allow_unconfined,
           const std::vector<HostFile>& host_files = {}, bool has_devices = true);

}  // namespace sandbox
