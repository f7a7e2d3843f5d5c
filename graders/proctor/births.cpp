#include "births.hpp"

#include <algorithm>
#include <cstddef>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "child.hpp"
#include "meter.hpp"
#include "seccomp.hpp"

namespace births {
namespace {

// As the kernel has them; older headers do not.
struct Question {
  uint64_t id;
  uint32_t pid, flags;
  seccomp_data call;
};
struct Answer {
  uint64_t id;
  int64_t value;
  int32_t error;
  uint32_t flags;
};
constexpr unsigned set_filter = 1, new_listener = 1U << 3, go_on = 1;
constexpr long nr_pidfd_getfd = 438;  // came right after what we need, and does no harm to ask for
const unsigned long receive = _IOWR('!', 0, Question), send = _IOWR('!', 1, Answer);

constexpr int64_t slowest_us = 1000 * 1000;  // between a grant and a process that can be counted

// A message of one byte that carries a descriptor.
struct Parcel {
  char byte = 0;
  iovec content = {&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message = {};

  Parcel() {
    message.msg_iov = &content;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
  }
};

void send_descriptor(int channel, int fd) {
  Parcel parcel;
  cmsghdr* head = CMSG_FIRSTHDR(&parcel.message);
  head->cmsg_level = SOL_SOCKET;
  head->cmsg_type = SCM_RIGHTS;
  head->cmsg_len = CMSG_LEN(sizeof fd);
  std::memcpy(CMSG_DATA(head), &fd, sizeof fd);
  if (sendmsg(channel, &parcel.message, 0) != 1) sys::fail_errno("send the questions of new processes");
}

int receive_descriptor(int channel) {
  Parcel parcel;
  const bool came = recvmsg(channel, &parcel.message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) == 1;
  const cmsghdr* head = came ? CMSG_FIRSTHDR(&parcel.message) : nullptr;
  int fd = -1;
  if (head) std::memcpy(&fd, CMSG_DATA(head), sizeof fd);
  return fd;
}

}  // namespace

bool available() { return seccomp::available() && syscall(nr_pidfd_getfd, -1, -1, 0) < 0 && errno == EBADF; }

void ask(int channel) {
  std::vector<sock_filter> program = seccomp::questions_of_births();
  const sock_fprog filter = {static_cast<unsigned short>(program.size()), program.data()};
  const sys::Fd questions(static_cast<int>(syscall(SYS_seccomp, set_filter, new_listener, &filter)));
  if (questions.valid()) send_descriptor(channel, questions.get());
}

void Registry::open(int channel) { questions_ = sys::Fd(receive_descriptor(channel)); }

void Registry::answer(int proc, pid_t self) {
  Question question = {};
  if (ioctl(questions_.get(), receive, &question) != 0) return;  // whoever asked is gone
  if (left_ <= 0) left_ = place(proc, self);
  full_ = left_ <= 0;
  const Answer given = {question.id, 0, full_ ? -EAGAIN : 0, full_ ? 0 : go_on};
  if (ioctl(questions_.get(), send, &given) == 0 && !full_) grant(static_cast<pid_t>(question.pid));
}

// Of whom a new process was granted at most one is on its way, as nobody asks twice at once.
int64_t Registry::place(int proc, pid_t self) {
  const int64_t now = process::now_us();
  const auto seen = [&](const Granted& one) { return now - one.at_us > slowest_us; };
  granted_.erase(std::remove_if(granted_.begin(), granted_.end(), seen), granted_.end());
  return most_ - static_cast<int64_t>(granted_.size()) - meter::threads_of_descendants(proc, self);
}

void Registry::grant(pid_t asked) {
  --left_;
  const auto same = [&](const Granted& one) { return one.to == asked; };
  granted_.erase(std::remove_if(granted_.begin(), granted_.end(), same), granted_.end());
  granted_.push_back({asked, process::now_us()});
}

}  // namespace births
