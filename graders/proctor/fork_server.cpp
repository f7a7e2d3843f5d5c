#include "fork_server.hpp"

#include <algorithm>
#include <csignal>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <utility>

#include "child.hpp"
#include "files.hpp"
#include "task.hpp"
#include "messages.hpp"

namespace fork_server {
namespace {

constexpr const char* place = "/box";        // where a submission sees its folder
constexpr int socket_there = 3, library_there = 4;  // the numbers that graders/python/waiting.py knows

// The script that the command names: the first word that is no option.
const std::string& script_of(const plan::Plan& plan) {
  const std::vector<std::string>& argv = plan.submission.argv;
  for (size_t i = 1; i < argv.size(); ++i)
    if (argv[i].compare(0, 1, "-") != 0) return argv[i];
  sys::fail("submission.argv: a script expected");
}

// To make namespaces and mounts, and to measure what runs in them. A start takes everything else away.
void keep_capabilities() {
  constexpr uint32_t kept = 1U << CAP_SYS_ADMIN | 1U << CAP_SYS_PTRACE;
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct own[2] = {{kept, kept, kept}, {0, 0, 0}};
  if (syscall(SYS_capset, &header, own) != 0) sys::fail_errno("capabilities");
  for (const unsigned long capability : {CAP_SYS_ADMIN, CAP_SYS_PTRACE})
    if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, capability, 0, 0) != 0) sys::fail_errno("ambient capabilities");
}

// In the folder of submissions its script has the name of theirs: what is found out at the start is what they find.
void stand_in_folder(const sandbox::Room& room, const std::string& folder) {
  const std::string own = room.job + "/" + folder;
  if (unshare(CLONE_NEWNS) != 0) sys::fail_errno("mount namespace");
  if (mount(own.c_str(), place, nullptr, MS_BIND, nullptr) != 0 || chdir(place) != 0)
    sys::fail_errno("the folder of submissions");
}

void place_descriptors(int socket, int library) {
  const int moved[] = {fcntl(socket, F_DUPFD_CLOEXEC, 16), fcntl(library, F_DUPFD_CLOEXEC, 16),
      open("/dev/null", O_RDWR | O_CLOEXEC)};
  for (const int fd : {0, 1, 2})
    if (dup2(moved[2], fd) < 0) sys::fail_errno("standard descriptors");
  if (dup2(moved[0], socket_there) < 0 || dup2(moved[1], library_there) < 0) sys::fail_errno("descriptors");
  process::close_others({socket_there, library_there});
}

// The room for the stack is laid out at the start.
void unlimit_stack() {
  rlimit stack;
  if (getrlimit(RLIMIT_STACK, &stack) != 0) return;
  stack.rlim_cur = stack.rlim_max;
  setrlimit(RLIMIT_STACK, &stack);
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (const std::string& text : texts) all.push_back(const_cast<char*>(text.c_str()));
  all.push_back(nullptr);
  return all;
}

[[noreturn]] void become_interpreter(const sandbox::Room& room, const plan::Plan& plan, int socket, int library,
    const std::string& folder) {
  try {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (int number = 1; number < NSIG; ++number) signal(number, SIG_DFL);
    stand_in_folder(room, folder);
    place_descriptors(socket, library);
    unlimit_stack();
    keep_capabilities();
    const std::vector<char*> argv = pointers(plan.submission.argv), env = pointers(plan.submission.env);
    execve(argv[0], argv.data(), room.layers.on("environment") ? env.data() : environ);
    sys::fail_errno("cannot start " + plan.submission.argv[0]);
  } catch (const sys::Failure& failure) {
    messages::send(socket_there, {failure.text, {}});
  }
  _exit(127);
}

// The folder of programs that can all see the same mounts: they write no files and see no /proc.
std::string shared_folder(const plan::Plan& plan) {
  const plan::Submission& program = plan.submission;
  const bool writes = plan.task_type == "BatchAndOutput" || !plan.output_file.empty();
  return writes || program.proc || program.streams || program.files.empty() ? "" : task::own_folder;
}

std::string module_names(const plan::Plan& plan) {
  std::string names = "\n";
  for (const std::string& name : plan.submission.warm.modules) names += name + "\n";
  return names;
}

}  // namespace

void make_folder(const plan::Plan& plan, const std::string& folder) {
  if (mkdir(folder.c_str(), 0755) != 0) sys::fail_errno("cannot make the interpreter's folder");
  const sys::Fd from = files::open_secret(plan.submission.warm.script);
  const sys::Fd to(open((folder + "/" + script_of(plan)).c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (!to.valid()) sys::fail_errno("cannot copy the interpreter's script");
  files::copy(from.get(), to.get());
}

std::string key(const plan::Plan& plan) {
  std::string all = shared_folder(plan) + '\0';
  std::vector<std::string> modules = plan.submission.warm.modules;
  std::sort(modules.begin(), modules.end());
  for (const std::vector<std::string>* words : {&plan.submission.argv, &plan.submission.env, &std::as_const(modules)}) {
    for (const std::string& word : *words) all += word + '\0';
    all += '\0';
  }
  return all;
}

Interpreter::Interpreter(const sandbox::Room& room, const plan::Plan& plan, const sys::Fd& library,
    const std::string& folder) {
  try {
    if (!room.pid) sys::fail("it takes namespaces" + (room.missing.empty() ? "" : ": " + room.missing.front()));
    start(room, plan, library, folder);
    messages::Message ready;
    // It may have said what is wrong, and ended, before it was told everything.
    static_cast<void>(messages::send(socket_.get(), {module_names(plan), {}}) &&
        messages::send(socket_.get(), messages::of_room(room, shared_folder(plan))));
    if (!messages::receive(socket_.get(), ready)) sys::fail("the interpreter ended before it waited");
    if (ready.bytes != "ready") sys::fail(ready.bytes);
  } catch (const sys::Failure& failure) {
    missing_ = failure.text;
    end();
  }
}

Interpreter::~Interpreter() { end(); }

void Interpreter::start(const sandbox::Room& room, const plan::Plan& plan, const sys::Fd& library,
    const std::string& folder) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) sys::fail_errno("socket");
  socket_ = sys::Fd(ends[0]);
  const sys::Fd there(ends[1]);
  pid_ = static_cast<pid_t>(sys::made(fork));
  if (pid_ < 0) sys::fail_errno("fork");
  if (pid_ == 0) become_interpreter(room, plan, there.get(), library.get(), folder);
}

void Interpreter::end() {
  socket_.reset();
  if (pid_ < 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

process::Outcome Interpreter::run(const sandbox::Room& room, const process::Program& program) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) sys::fail_errno("pipe");
  sys::Fd reading(ends[0]), writing(ends[1]);
  messages::Message answer;
  pid_t supervisor = -1;
  if (!messages::send(socket_.get(), messages::of_program(program, writing.get())) ||
      !messages::receive(socket_.get(), answer)) {
    missing_ = "the interpreter ended while it waited";
    end();
    sys::fail(missing_, true);
  }
  if (answer.bytes.size() != sizeof supervisor) sys::fail(answer.bytes);
  std::memcpy(&supervisor, answer.bytes.data(), sizeof supervisor);
  writing.reset();
  return process::Running(supervisor, std::move(reading), room.layers.on("order")).wait();
}

}  // namespace fork_server
