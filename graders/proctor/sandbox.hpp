// The sandbox that the proctor enters once: namespaces and a minimal root folder. Each program then gets a new pid
// namespace and a copy of the mounts.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "json.hpp"
#include "landlock.hpp"
#include "mounts.hpp"
#include "sys.hpp"

namespace sandbox {

// The layers of the sandbox that may be used. Tests disable the three that a kernel may lack. A test build
// (IOI_EVAL_TEST_LAYERS) can disable any layer, to show that each layer stops its attacks. Users cannot disable them.
struct SandboxLayers {
  bool namespaces = true, landlock = true, seccomp = true;

#ifdef IOI_EVAL_TEST_LAYERS
  std::vector<std::string> disabled;
  bool is_enabled(const char* layer) const {
    return std::find(disabled.begin(), disabled.end(), layer) == disabled.end();
  }
#else
  constexpr bool is_enabled(const char* /* layer */) const { return true; }
#endif

  // Reads `layers` and `without` of a plan or a sandbox spec.
  static SandboxLayers parse(const json::Value& document);
};

// A file or folder that every program may access.
struct AccessGrant {
  sys::Fd fd;
  landlock::Access access;
};

// Opens the paths that programs may read, while the proctor is still root. They are opened as detached mounts, so that
// users without access to the parent folders can read them.
std::vector<mounts::HostPath> open_readable_paths(const std::vector<std::string>& paths, const SandboxLayers& layers);

// A file of the host with an open descriptor, which programs can reach through /proc.
struct OpenHostFile {
  int fd;
  std::string path;
};

struct Sandbox {
  SandboxLayers layers;
  bool has_user_namespace = false, has_mount_namespace = false, has_net_namespace = false,
       has_ipc_namespace = false;  // namespaces that the proctor has entered
  // RLIMIT_NPROC counts only the tasks of this user namespace.
  bool counts_own_tasks = false;
  // Each program gets a new pid namespace, and a /proc that shows only its processes.
  bool has_pid_namespace = false;
  bool exec_needs_fd_path = false;  // whether execveat fails unless /dev/fd/N exists
  int landlock_abi = 0;
  bool has_seccomp = false;
  std::vector<std::string> missing_layers;  // a sentence for each layer that the kernel refused
  // The system's folders and harmless devices, which every program may read.
  std::vector<AccessGrant> system_grants;
  std::vector<std::string> paths_below_tmp;  // readable paths below /tmp, which a program's /tmp covers
  std::string job_folder = ".";              // the job's folder as the proctor sees it
  // The folder of all programs, if they share their mounts. Empty means that each program has separate mounts.
  std::string shared_folder;
  sys::Fd proc_fd;  // descriptor of the /proc from which resource usage is read

  bool is_confined() const { return has_mount_namespace || (layers.landlock && landlock_abi > 0); }
  std::string format_confinement(
      const std::string& interpreter = "") const;  // returns the confinement report of docs/protocol.md
};

// Returns whether this process has uid 0 and can become another user. If no other user is mapped, uid 0 is an ordinary
// user in a namespace; programs start without its capabilities.
bool can_drop_privileges();

// Becomes an unprivileged user if the uid is 0, because neither file modes nor undumpability hold against uid 0.
void drop_privileges(long uid, const SandboxLayers& layers);

// Prevents other processes of the same user from inspecting this process.
void make_undumpable(const SandboxLayers& layers);

// Moves the calling process into a new sandbox around the job's folder, with all layers that the kernel offers. Fails
// if nothing would confine programs, unless `allow_unconfined` is set.
// `readable_paths` are further paths that programs may read, opened while the process was root. `has_devices`: whether
// programs see the random devices and /dev/full.
Sandbox enter_sandbox(const std::string& job_folder, std::vector<mounts::HostPath> readable_paths, SandboxLayers layers,
    bool allow_unconfined, const std::vector<OpenHostFile>& host_files = {}, bool has_devices = true);

}  // namespace sandbox
