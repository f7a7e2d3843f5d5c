#include "messages.hpp"

#include <fcntl.h>
#include <sys/socket.h>

namespace messages {
namespace {

constexpr size_t max_bytes = 1 << 16, max_fds = 64;

struct SandboxFields {
  bool has_user_namespace, has_mount_namespace, has_net_namespace, has_ipc_namespace, counts_own_tasks,
      has_pid_namespace, exec_needs_fd_path, has_seccomp;
  int landlock_abi;
  size_t grant_count;
};

struct ProgramFields {
  process::Limits limits;
  bool may_use_threads, is_exclusive, sees_proc, sees_own_descriptors;
  int input, output, error, counted_file, argument_fd;  // indexes into the message's descriptors; -1 means none
};

template <class Fields>
std::string encode_fields(const Fields& fields) {
  return std::string(reinterpret_cast<const char*>(&fields), sizeof fields);
}

template <class Fields>
Fields decode_fields(const ForkServerMessage& message) {
  Fields fields;
  if (message.bytes.size() < sizeof fields) sys::fail("the message is too short");
  std::memcpy(&fields, message.bytes.data(), sizeof fields);
  return fields;
}

std::vector<std::string> read_strings_after(const ForkServerMessage& message, size_t offset) {
  std::vector<std::string> strings;
  for (size_t end; (end = message.bytes.find('\0', offset)) != std::string::npos; offset = end + 1)
    strings.push_back(message.bytes.substr(offset, end - offset));
  return strings;
}

int append_fd_and_get_index(int fd, std::vector<int>& fds) {
  if (fd < 0) return -1;
  fds.push_back(fd);
  return static_cast<int>(fds.size()) - 1;
}

int find_descriptor(const ForkServerMessage& message, int index) {
  if (index >= static_cast<int>(message.fds.size())) sys::fail("the message has too few descriptors");
  return index < 0 ? -1 : message.fds[static_cast<size_t>(index)];
}

void receive_descriptors(msghdr& header, ForkServerMessage& message) {
  for (cmsghdr* control = CMSG_FIRSTHDR(&header); control; control = CMSG_NXTHDR(&header, control)) {
    if (control->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (control->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    message.fds.resize(count);
    std::memcpy(message.fds.data(), CMSG_DATA(control), count * sizeof(int));
  }
}

}  // namespace

bool send_message(int socket, const ForkServerMessage& message) {
  alignas(cmsghdr) char control_buffer[CMSG_SPACE(max_fds * sizeof(int))] = {};
  iovec data = {const_cast<char*>(message.bytes.data()), message.bytes.size()};
  msghdr header = {};
  header.msg_iov = &data, header.msg_iovlen = 1;
  if (message.fds.size() > max_fds || message.bytes.size() > max_bytes) return false;
  if (!message.fds.empty()) {
    const size_t length = message.fds.size() * sizeof(int);
    header.msg_control = control_buffer, header.msg_controllen = CMSG_SPACE(length);
    cmsghdr* const control = CMSG_FIRSTHDR(&header);
    control->cmsg_level = SOL_SOCKET, control->cmsg_type = SCM_RIGHTS, control->cmsg_len = CMSG_LEN(length);
    std::memcpy(CMSG_DATA(control), message.fds.data(), length);
  }
  return sendmsg(socket, &header, MSG_NOSIGNAL) == static_cast<ssize_t>(message.bytes.size());
}

bool receive_message(int socket, ForkServerMessage& message) {
  alignas(cmsghdr) char control_buffer[CMSG_SPACE(max_fds * sizeof(int))] = {};
  message.bytes.assign(max_bytes, '\0');
  message.fds.clear();
  iovec data = {&message.bytes[0], message.bytes.size()};
  msghdr header = {};
  header.msg_iov = &data, header.msg_iovlen = 1, header.msg_control = control_buffer,
  header.msg_controllen = sizeof control_buffer;
  ssize_t length;
  // If the sender exited with unread messages, the first call returns ECONNRESET, and the next call returns its
  // message.
  do length = recvmsg(socket, &header, MSG_CMSG_CLOEXEC);
  while (length < 0 && (errno == EINTR || errno == ECONNRESET));
  if (length > 0) receive_descriptors(header, message);
  message.bytes.resize(length > 0 ? static_cast<size_t>(length) : 0);
  return length > 0;
}

ForkServerMessage encode_sandbox(const sandbox::Sandbox& sandbox, const std::string& shared_folder) {
  const SandboxFields fields = {sandbox.has_user_namespace, sandbox.has_mount_namespace, sandbox.has_net_namespace,
      sandbox.has_ipc_namespace, sandbox.counts_own_tasks, sandbox.has_pid_namespace, sandbox.exec_needs_fd_path,
      sandbox.has_seccomp, sandbox.landlock_abi, sandbox.system_grants.size()};
  ForkServerMessage message = {encode_fields(fields), {}};
  for (const sandbox::AccessGrant& grant : sandbox.system_grants)
    message.fds.push_back(grant.fd.get()), message.bytes += encode_fields(grant.access);
  message.bytes += sandbox.job_folder + '\0' + shared_folder + '\0';
#ifdef IOI_EVAL_TEST_LAYERS
  for (const std::string& layer : sandbox.layers.disabled) message.bytes += layer + '\0';
#endif
  return message;
}

sandbox::Sandbox decode_sandbox(const ForkServerMessage& message) {
  const auto fields = decode_fields<SandboxFields>(message);
  sandbox::Sandbox sandbox;
  sandbox.has_user_namespace = fields.has_user_namespace, sandbox.has_mount_namespace = fields.has_mount_namespace,
  sandbox.has_net_namespace = fields.has_net_namespace, sandbox.has_ipc_namespace = fields.has_ipc_namespace,
  sandbox.counts_own_tasks = fields.counts_own_tasks;
  sandbox.has_pid_namespace = fields.has_pid_namespace, sandbox.exec_needs_fd_path = fields.exec_needs_fd_path,
  sandbox.has_seccomp = fields.has_seccomp;
  sandbox.landlock_abi = fields.landlock_abi;
  size_t offset = sizeof fields;
  if (message.fds.size() != fields.grant_count ||
      message.bytes.size() < offset + fields.grant_count * sizeof(landlock::Access))
    sys::fail("the message about the sandbox is incomplete");
  for (const int fd : message.fds) {
    landlock::Access access;
    std::memcpy(&access, &message.bytes[offset], sizeof access);
    sandbox.system_grants.push_back({sys::Fd(fd), access});
    offset += sizeof access;
  }
  const std::vector<std::string> strings = read_strings_after(message, offset);
  sandbox.job_folder = strings.at(0), sandbox.shared_folder = strings.at(1);
#ifdef IOI_EVAL_TEST_LAYERS
  sandbox.layers.disabled.assign(strings.begin() + 2, strings.end());
#endif
  sandbox.proc_fd = sys::Fd(open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC));
  return sandbox;
}

ForkServerMessage encode_program(const process::Program& program, int report_pipe) {
  ForkServerMessage message;
  message.fds.push_back(report_pipe);
  ProgramFields fields = {};
  fields.limits = program.limits;
  fields.may_use_threads = program.may_use_threads, fields.is_exclusive = program.is_exclusive;
  fields.sees_proc = program.sees_proc, fields.sees_own_descriptors = program.sees_own_descriptors;
  fields.input = append_fd_and_get_index(program.input, message.fds),
  fields.output = append_fd_and_get_index(program.output, message.fds);
  fields.error = append_fd_and_get_index(program.error, message.fds),
  fields.counted_file = append_fd_and_get_index(program.counted_file, message.fds);
  fields.argument_fd = append_fd_and_get_index(program.argument_fd, message.fds);
  message.bytes = encode_fields(fields) + program.folder + '\0';
  for (const std::string& name : program.writable_paths) message.bytes += name + '\0';
  return message;
}

process::Program decode_program(const ForkServerMessage& message) {
  const auto fields = decode_fields<ProgramFields>(message);
  process::Program program;
  program.limits = fields.limits;
  program.may_use_threads = fields.may_use_threads, program.is_exclusive = fields.is_exclusive;
  program.sees_proc = fields.sees_proc, program.sees_own_descriptors = fields.sees_own_descriptors;
  program.input = find_descriptor(message, fields.input), program.output = find_descriptor(message, fields.output),
  program.error = find_descriptor(message, fields.error);
  program.counted_file = find_descriptor(message, fields.counted_file),
  program.argument_fd = find_descriptor(message, fields.argument_fd);
  if (program.argument_fd >= 0) program.inherited_fds.push_back(program.argument_fd);
  const std::vector<std::string> strings = read_strings_after(message, sizeof fields);
  program.folder = strings.at(0);
  program.writable_paths.assign(strings.begin() + 1, strings.end());
  return program;
}

}  // namespace messages
