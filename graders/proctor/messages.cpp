#include "messages.hpp"

#include <fcntl.h>
#include <sys/socket.h>

namespace messages {
namespace {

constexpr size_t most_bytes = 1 << 16, most_fds = 64;

struct RoomWords {
  bool user, mount, net, ipc, counts, pid, by_name, seccomp;
  int landlock_abi;
  size_t grants;
};

struct ProgramWords {
  process::Limits limits;
  bool threads, quiet, proc, streams;
  int input, output, error, kept, told;  // places among the descriptors; -1: none
};

template <class Words>
std::string bytes_of(const Words& words) {
  return std::string(reinterpret_cast<const char*>(&words), sizeof words);
}

template <class Words>
Words words_of(const Message& message) {
  Words words;
  if (message.bytes.size() < sizeof words) sys::fail("a message is too short");
  std::memcpy(&words, message.bytes.data(), sizeof words);
  return words;
}

std::vector<std::string> texts_behind(const Message& message, size_t at) {
  std::vector<std::string> texts;
  for (size_t end; (end = message.bytes.find('\0', at)) != std::string::npos; at = end + 1)
    texts.push_back(message.bytes.substr(at, end - at));
  return texts;
}

int place_of(int fd, std::vector<int>& fds) {
  if (fd < 0) return -1;
  fds.push_back(fd);
  return static_cast<int>(fds.size()) - 1;
}

int at(const Message& message, int place) {
  if (place >= static_cast<int>(message.fds.size())) sys::fail("a message lacks a descriptor");
  return place < 0 ? -1 : message.fds[static_cast<size_t>(place)];
}

void take_descriptors(msghdr& header, Message& message) {
  for (cmsghdr* part = CMSG_FIRSTHDR(&header); part; part = CMSG_NXTHDR(&header, part)) {
    if (part->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    message.fds.resize(count);
    std::memcpy(message.fds.data(), CMSG_DATA(part), count * sizeof(int));
  }
}

}  // namespace

bool send(int socket, const Message& message) {
  alignas(cmsghdr) char space[CMSG_SPACE(most_fds * sizeof(int))] = {};
  iovec piece = {const_cast<char*>(message.bytes.data()), message.bytes.size()};
  msghdr header = {};
  header.msg_iov = &piece, header.msg_iovlen = 1;
  if (message.fds.size() > most_fds || message.bytes.size() > most_bytes) return false;
  if (!message.fds.empty()) {
    const size_t length = message.fds.size() * sizeof(int);
    header.msg_control = space, header.msg_controllen = CMSG_SPACE(length);
    cmsghdr* const part = CMSG_FIRSTHDR(&header);
    part->cmsg_level = SOL_SOCKET, part->cmsg_type = SCM_RIGHTS, part->cmsg_len = CMSG_LEN(length);
    std::memcpy(CMSG_DATA(part), message.fds.data(), length);
  }
  return sendmsg(socket, &header, MSG_NOSIGNAL) == static_cast<ssize_t>(message.bytes.size());
}

bool receive(int socket, Message& message) {
  alignas(cmsghdr) char space[CMSG_SPACE(most_fds * sizeof(int))] = {};
  message.bytes.assign(most_bytes, '\0');
  message.fds.clear();
  iovec piece = {&message.bytes[0], message.bytes.size()};
  msghdr header = {};
  header.msg_iov = &piece, header.msg_iovlen = 1, header.msg_control = space, header.msg_controllen = sizeof space;
  ssize_t length;
  // Who ends with something unread is told of first, and what it said before only then.
  do length = recvmsg(socket, &header, MSG_CMSG_CLOEXEC);
  while (length < 0 && (errno == EINTR || errno == ECONNRESET));
  if (length > 0) take_descriptors(header, message);
  message.bytes.resize(length > 0 ? static_cast<size_t>(length) : 0);
  return length > 0;
}

Message of_room(const sandbox::Room& room, const std::string& shared) {
  const RoomWords words =
      {room.user, room.mount, room.net, room.ipc, room.counts, room.pid, room.by_name, room.seccomp, room.landlock_abi,
          room.system.size()};
  Message message = {bytes_of(words), {}};
  for (const sandbox::Grant& grant : room.system)
    message.fds.push_back(grant.fd.get()), message.bytes += bytes_of(grant.access);
  message.bytes += room.job + '\0' + shared + '\0';
#ifdef IOI_EVAL_TEST_LAYERS
  for (const std::string& layer : room.layers.without) message.bytes += layer + '\0';
#endif
  return message;
}

sandbox::Room room_of(const Message& message) {
  const auto words = words_of<RoomWords>(message);
  sandbox::Room room;
  room.user = words.user, room.mount = words.mount, room.net = words.net, room.ipc = words.ipc,
      room.counts = words.counts;
  room.pid = words.pid, room.by_name = words.by_name, room.seccomp = words.seccomp;
  room.landlock_abi = words.landlock_abi;
  size_t at = sizeof words;
  if (message.fds.size() != words.grants || message.bytes.size() < at + words.grants * sizeof(landlock::Access))
    sys::fail("a message about the room is not whole");
  for (const int fd : message.fds) {
    landlock::Access access;
    std::memcpy(&access, &message.bytes[at], sizeof access);
    room.system.push_back({sys::Fd(fd), access});
    at += sizeof access;
  }
  const std::vector<std::string> texts = texts_behind(message, at);
  room.job = texts.at(0), room.shared = texts.at(1);
#ifdef IOI_EVAL_TEST_LAYERS
  room.layers.without.assign(texts.begin() + 2, texts.end());
#endif
  room.proc = sys::Fd(open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC));
  return room;
}

Message of_program(const process::Program& program, int report) {
  Message message;
  message.fds.push_back(report);
  ProgramWords words = {};
  words.limits = program.limits;
  words.threads = program.threads, words.quiet = program.quiet;
  words.proc = program.proc, words.streams = program.streams;
  words.input = place_of(program.input, message.fds), words.output = place_of(program.output, message.fds);
  words.error = place_of(program.error, message.fds), words.kept = place_of(program.kept, message.fds);
  words.told = place_of(program.told, message.fds);
  message.bytes = bytes_of(words) + program.folder + '\0';
  for (const std::string& name : program.writable) message.bytes += name + '\0';
  return message;
}

process::Program program_of(const Message& message) {
  const auto words = words_of<ProgramWords>(message);
  process::Program program;
  program.limits = words.limits;
  program.threads = words.threads, program.quiet = words.quiet;
  program.proc = words.proc, program.streams = words.streams;
  program.input = at(message, words.input), program.output = at(message, words.output),
      program.error = at(message, words.error);
  program.kept = at(message, words.kept), program.told = at(message, words.told);
  if (program.told >= 0) program.inherited.push_back(program.told);
  const std::vector<std::string> texts = texts_behind(message, sizeof words);
  program.folder = texts.at(0);
  program.writable.assign(texts.begin() + 1, texts.end());
  return program;
}

}  // namespace messages
