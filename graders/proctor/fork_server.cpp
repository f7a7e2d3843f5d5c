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

constexpr const char* submission_mount = "/box";            // The path at which a submission sees its folder.
constexpr int socket_fd_number = 3, library_fd_number = 4;  // The numbers that graders/python/waiting.py uses.

// Returns the script in the plan's command: the first argument that is not an option.
const std::string& find_script_name(const plan::Plan& plan) {
  const std::vector<std::string>& argv = plan.submission.argv;
  for (size_t i = 1; i < argv.size(); ++i)
    if (argv[i].compare(0, 1, "-") != 0) return argv[i];
  sys::fail("submission.argv: a script expected");
}

// Keeps the capabilities to create namespaces and mounts, and to inspect the processes in them. The exec drops all
// other capabilities.
void keep_capabilities() {
  constexpr uint32_t capabilities = 1U << CAP_SYS_ADMIN | 1U << CAP_SYS_PTRACE;
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct capability_sets[2] = {{capabilities, capabilities, capabilities}, {0, 0, 0}};
  if (syscall(SYS_capset, &header, capability_sets) != 0) sys::fail_errno("cannot keep capabilities");
  for (const unsigned long capability : {CAP_SYS_ADMIN, CAP_SYS_PTRACE})
    if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, capability, 0, 0) != 0)
      sys::fail_errno("cannot keep ambient capabilities");
}

// Enters the interpreter's folder at the path of submissions' folders. Its script has the name of a submission's
// script, so that the values that Python computes from the path at the start are right for submissions.
void enter_script_folder(const sandbox::Sandbox& sandbox, const std::string& folder) {
  const std::string script_folder = sandbox.job_folder + "/" + folder;
  if (unshare(CLONE_NEWNS) != 0) sys::fail_errno("cannot make a mount namespace");
  if (mount(script_folder.c_str(), submission_mount, nullptr, MS_BIND, nullptr) != 0 || chdir(submission_mount) != 0)
    sys::fail_errno("cannot enter the folder of submissions");
}

void set_descriptor_numbers(int socket_fd, int library_fd) {
  const int free_fds[] = {fcntl(socket_fd, F_DUPFD_CLOEXEC, 16), fcntl(library_fd, F_DUPFD_CLOEXEC, 16),
      open("/dev/null", O_RDWR | O_CLOEXEC)};
  for (const int fd : {0, 1, 2})
    if (dup2(free_fds[2], fd) < 0) sys::fail_errno("cannot place standard descriptors");
  if (dup2(free_fds[0], socket_fd_number) < 0 || dup2(free_fds[1], library_fd_number) < 0)
    sys::fail_errno("cannot place descriptors");
  process::close_all_except({socket_fd_number, library_fd_number});
}

// The kernel reserves addresses for the stack at the start of a program.
void unlimit_stack() {
  rlimit stack;
  if (getrlimit(RLIMIT_STACK, &stack) != 0) return;
  stack.rlim_cur = stack.rlim_max;
  setrlimit(RLIMIT_STACK, &stack);
}

std::vector<char*> to_c_strings(const std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (const std::string& string : strings) pointers.push_back(const_cast<char*>(string.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

[[noreturn]] void exec_interpreter(const sandbox::Sandbox& sandbox, const plan::Plan& plan, int socket_fd,
    int library_fd, const std::string& script_folder) {
  try {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (int signal_number = 1; signal_number < NSIG; ++signal_number) signal(signal_number, SIG_DFL);
    enter_script_folder(sandbox, script_folder);
    set_descriptor_numbers(socket_fd, library_fd);
    unlimit_stack();
    keep_capabilities();
    const std::vector<char*> argv = to_c_strings(plan.submission.argv), env = to_c_strings(plan.submission.env);
    execve(argv[0], argv.data(), sandbox.layers.is_enabled("environment") ? env.data() : environ);
    sys::fail_errno("cannot start " + plan.submission.argv[0]);
  } catch (const sys::Failure& failure) {
    messages::send_message(socket_fd_number, {failure.message, {}});
  }
  _exit(127);
}

// Returns the folder of programs that can share their mounts, because they write no files and see no /proc. Returns an
// empty string for other programs.
std::string find_folder_with_shared_mounts(const plan::Plan& plan) {
  const plan::Submission& program = plan.submission;
  const bool writes = plan.task_type == "BatchAndOutput" || !plan.output_file.empty();
  return writes || program.sees_proc || program.sees_own_descriptors || program.files.empty() ? ""
                                                                                              : task::submission_folder;
}

std::string format_module_names(const plan::Plan& plan) {
  std::string names = "\n";
  for (const std::string& name : plan.submission.fork_server.modules) names += name + "\n";
  return names;
}

}  // namespace

void make_script_folder(const plan::Plan& plan, const std::string& folder) {
  if (mkdir(folder.c_str(), 0755) != 0) sys::fail_errno("cannot make the interpreter's folder");
  const sys::Fd source = files::open_job_file(plan.submission.fork_server.script);
  const sys::Fd target(
      open((folder + "/" + find_script_name(plan)).c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (!target.valid()) sys::fail_errno("cannot copy the interpreter's script");
  files::copy_content(source.get(), target.get());
}

std::string make_reuse_key(const plan::Plan& plan) {
  std::string key = find_folder_with_shared_mounts(plan) + '\0';
  std::vector<std::string> modules = plan.submission.fork_server.modules;
  std::sort(modules.begin(), modules.end());
  for (const std::vector<std::string>* strings :
      {&plan.submission.argv, &plan.submission.env, &std::as_const(modules)}) {
    for (const std::string& string : *strings) key += string + '\0';
    key += '\0';
  }
  return key;
}

ForkServer::ForkServer(
    const sandbox::Sandbox& sandbox, const plan::Plan& plan, const sys::Fd& library, const std::string& folder) {
  try {
    if (!sandbox.has_pid_namespace)
      sys::fail(
          "forking needs namespaces" + (sandbox.missing_layers.empty() ? "" : ": " + sandbox.missing_layers.front()));
    start_interpreter(sandbox, plan, library, folder);
    messages::ForkServerMessage reply;
    // The interpreter may have reported an error and exited before it has received both messages.
    static_cast<void>(messages::send_message(socket_.get(), {format_module_names(plan), {}}) &&
        messages::send_message(socket_.get(), messages::encode_sandbox(sandbox, find_folder_with_shared_mounts(plan))));
    if (!messages::receive_message(socket_.get(), reply)) sys::fail("the interpreter exited before it was ready");
    if (reply.bytes != "ready") sys::fail(reply.bytes);
  } catch (const sys::Failure& failure) {
    failure_ = failure.message;
    stop_interpreter();
  }
}

ForkServer::~ForkServer() { stop_interpreter(); }

void ForkServer::start_interpreter(
    const sandbox::Sandbox& sandbox, const plan::Plan& plan, const sys::Fd& library, const std::string& folder) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) sys::fail_errno("cannot make a socket pair");
  socket_ = sys::Fd(ends[0]);
  const sys::Fd remote_end(ends[1]);
  interpreter_pid_ = static_cast<pid_t>(sys::retry_while_eagain(fork));
  if (interpreter_pid_ < 0) sys::fail_errno("cannot fork");
  if (interpreter_pid_ == 0) exec_interpreter(sandbox, plan, remote_end.get(), library.get(), folder);
}

void ForkServer::stop_interpreter() {
  socket_.reset();
  if (interpreter_pid_ < 0) return;
  kill(interpreter_pid_, SIGKILL);
  waitpid(interpreter_pid_, nullptr, 0);
  interpreter_pid_ = -1;
}

process::Ending ForkServer::run_program(const sandbox::Sandbox& sandbox, const process::Program& program) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) sys::fail_errno("cannot make a pipe");
  sys::Fd read_end(ends[0]), write_end(ends[1]);
  messages::ForkServerMessage answer;
  pid_t supervisor = -1;
  if (!messages::send_message(socket_.get(), messages::encode_program(program, write_end.get())) ||
      !messages::receive_message(socket_.get(), answer)) {
    failure_ = "the interpreter exited before it answered";
    stop_interpreter();
    sys::fail(failure_, true);
  }
  if (answer.bytes.size() != sizeof supervisor) sys::fail(answer.bytes);
  std::memcpy(&supervisor, answer.bytes.data(), sizeof supervisor);
  write_end.reset();
  return process::RunningProgram(supervisor, std::move(read_end), sandbox.layers.is_enabled("order")).wait_for_ending();
}

}  // namespace fork_server
