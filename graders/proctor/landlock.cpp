#include "landlock.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>

namespace landlock {
namespace {

// The kernel's structure landlock_ruleset_attr, as of ABI 7. An older kernel reads the first fields.
struct RulesetAttributes {
  uint64_t handled_fs, handled_net, scoped;
};
struct __attribute__((packed)) PathBeneath {
  uint64_t allowed;
  int32_t parent;
};
constexpr int rule_path_beneath = 1;
constexpr uint32_t flag_version = 1;

constexpr uint64_t execute = 1 << 0, write_file = 1 << 1, read_file = 1 << 2, read_dir = 1 << 3;
constexpr uint64_t refer = 1 << 13, truncate = 1 << 14, ioctl_device = 1 << 15;
constexpr uint64_t all_of_abi_1 = (1 << 13) - 1;

uint64_t find_landlock_rights_mask(int abi) {
  return all_of_abi_1 | (abi >= 2 ? refer : 0) | (abi >= 3 ? truncate : 0) | (abi >= 5 ? ioctl_device : 0);
}

uint64_t find_access_rights_mask(Access access) {
  switch (access) {
    case Access::read: return read_file | read_dir;
    case Access::run: return read_file | read_dir | execute;
    case Access::write: return read_file | write_file | truncate;
    case Access::modify: return all_of_abi_1 | refer | truncate;
  }
  return 0;
}

constexpr uint64_t file_rights = execute | write_file | read_file | truncate | ioctl_device;

}  // namespace

int find_abi() {
  const long version = syscall(sys::nr_landlock_create_ruleset, nullptr, 0, flag_version);
  return version > 0 ? static_cast<int>(version) : 0;
}

Ruleset::Ruleset() : abi_(find_abi()) {
  if (abi_ == 0) return;
  RulesetAttributes attributes = {find_landlock_rights_mask(abi_), 0, 0};
  size_t size = sizeof attributes.handled_fs;
  if (abi_ >= 4) attributes.handled_net = 3, size = 2 * sizeof(uint64_t);  // forbids bind and connect of TCP
  // limits abstract unix sockets and signals to the sandbox
  if (abi_ >= 6) attributes.scoped = 3, size = 3 * sizeof(uint64_t);
  ruleset_fd_ = sys::Fd(static_cast<int>(syscall(sys::nr_landlock_create_ruleset, &attributes, size, 0)));
}

void Ruleset::permit_fd(int fd, Access access) {
  struct stat status;
  if (!valid() || fstat(fd, &status) != 0) return;
  uint64_t allowed = find_access_rights_mask(access) & find_landlock_rights_mask(abi_);
  if (!S_ISDIR(status.st_mode)) allowed &= file_rights;
  const PathBeneath rule = {allowed, fd};
  // The kernel refuses pipes and memory files (EBADFD), because no rule applies to them anyway.
  syscall(sys::nr_landlock_add_rule, ruleset_fd_.get(), rule_path_beneath, &rule, 0);
}

void Ruleset::permit_path(const char* path, Access access) {
  const sys::Fd fd(open(path, O_PATH | O_CLOEXEC));
  if (fd.valid()) permit_fd(fd.get(), access);
}

std::string Ruleset::enforce_or_explain() const {
  if (syscall(sys::nr_landlock_restrict_self, ruleset_fd_.get(), 0) != 0) return sys::errno_message("landlock");
  return "";
}

}  // namespace landlock
