#include "sandbox_command.hpp"

#include <csignal>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>

#include "files.hpp"
#include "json.hpp"
#include "plan.hpp"
#include "process.hpp"
#include "text.hpp"

namespace sandbox_command {
namespace {

constexpr size_t max_spec_bytes = 4 << 20;
constexpr int64_t version = 2;
constexpr int first_linked_fd = 64;  // Descriptor numbers below this are free for scripts.

// A sandbox spec: the program to run, its files and its limits.
struct SandboxSpec {
  process::Program program;
  std::string folder;
  std::vector<std::pair<std::string, std::string>> files;  // names in the folder, and paths on the host
  std::vector<std::string> readable_paths;
  sandbox::SandboxLayers layers;
  long uid = 0;
  int report_fd = STDERR_FILENO, kill_switch_fd = -1;
  bool allow_unconfined = false;
  // whether the program sees /proc, in which descriptors have paths and other processes are visible
  bool has_proc = true;
};

void set_seccomp_profile(const std::string& profile_name, process::Program& program) {
  if (profile_name != "tool" && profile_name != "stage")
    sys::fail("profile: tool or stage expected, not " + profile_name);
  program.starts_sandboxes = profile_name == "stage";
  program.profile = program.starts_sandboxes ? seccomp::Profile::stage : seccomp::Profile::tool;
}

SandboxSpec read_spec(const json::Value& value) {
  if (value.at("version").as_integer("version") != version)
    sys::fail("version: this proctor reads sandbox specs of version 2");
  SandboxSpec spec;
  spec.report_fd = static_cast<int>(value.at("report_fd").integer_or(STDERR_FILENO, "report_fd"));
  spec.kill_switch_fd = static_cast<int>(value.at("leash_fd").integer_or(-1, "leash_fd"));
  spec.program.argv = value.at("argv").as_strings("argv");
  if (spec.program.argv.empty() || spec.program.argv[0].find('/') == std::string::npos)
    sys::fail("argv: the path of a program expected");
  for (const auto& variable : value.at("env").object)
    spec.program.env.push_back(variable.first + "=" + variable.second.as_text("env"));
  spec.folder = value.at("dir").as_text("dir");
  for (const json::Value& file : value.at("files").as_list("files"))
    spec.files.emplace_back(plan::require_job_file_name(file.at("name").as_text("files.name"), "files.name"),
        file.at("path").as_text("files.path"));
  for (const std::string& path : value.at("read").as_strings("read"))
    if (path == "/proc")
      spec.program.sees_sandbox_proc = true;  // the /proc of the sandbox, not the machine's
    else
      spec.readable_paths.push_back(path);
  spec.has_proc = value.at("proc").boolean_or(true, "proc");
  set_seccomp_profile(value.at("profile").as_text("profile"), spec.program);
  // For scripts. Programs that an inner proctor starts do not see it.
  if (spec.program.starts_sandboxes) spec.readable_paths.push_back("/dev/zero");
  spec.uid = static_cast<long>(value.at("uid").integer_or(0, "uid"));
  spec.program.limits = plan::read_limits(value.at("limits"), "file_size");
  spec.program.limits.open_files =
      value.at("limits").at("open_files").integer_or(process::unlimited, "limits.open_files");
  spec.layers = sandbox::SandboxLayers::parse(value);
  spec.allow_unconfined = value.at("allow_unconfined").boolean_or(false, "allow_unconfined");
  return spec;
}

void make_parent_folders(const std::string& name) {
  for (size_t slash = name.find('/'); slash != std::string::npos; slash = name.find('/', slash + 1))
    mkdir(name.substr(0, slash).c_str(), 0755);
}

// Opens the host's files before privileges are dropped, and links them into the folder by descriptor. They stay open in
// the program.
std::vector<sys::Fd> open_and_link_files(SandboxSpec& spec) {
  std::vector<sys::Fd> linked_files;
  for (const auto& file : spec.files) {
    const sys::Fd opened(open(file.second.c_str(), O_RDONLY | O_CLOEXEC));
    if (!opened.valid()) sys::fail_errno("cannot open " + file.second);
    sys::Fd fd(fcntl(opened.get(), F_DUPFD_CLOEXEC, first_linked_fd));
    if (!fd.valid()) sys::fail_errno("cannot keep " + file.second + " open");
    make_parent_folders(file.first);
    if (symlink(("/proc/self/fd/" + std::to_string(fd.get())).c_str(), file.first.c_str()) != 0)
      sys::fail_errno("cannot link " + file.first);
    spec.program.inherited_fds.push_back(fd.get());
    linked_files.push_back(std::move(fd));
  }
  return linked_files;
}

void chown_folders_of_linked_files(const SandboxSpec& spec) {
  if (!sandbox::can_drop_privileges()) return;
  for (const auto& file : spec.files)
    for (size_t slash = file.first.find('/'); slash != std::string::npos; slash = file.first.find('/', slash + 1))
      if (chown(file.first.substr(0, slash).c_str(), static_cast<uid_t>(spec.uid), static_cast<gid_t>(spec.uid)) != 0)
        sys::fail_errno("cannot change the owner of a folder");
}

const char* find_kill_reason_name(process::KillReason kill_reason) {
  switch (kill_reason) {
    case process::KillReason::none: return "";
    case process::KillReason::cpu: return "cpu";
    case process::KillReason::wall: return "wall";
    case process::KillReason::memory: return "memory";
    case process::KillReason::processes: return "processes";
    case process::KillReason::threads: return "threads";
    case process::KillReason::disk: return "disk";
    case process::KillReason::kill_switch: return "leash";
  }
  return "";
}

std::string format_report(const process::Ending& ending, const std::string& confinement) {
  return "{\"v\":2" + text::format_json_field("code", ending.exit_code) +
      text::format_json_field("signal", ending.signal) + ",\"killed\":\"" +
      (ending.is_stalled ? "hard" : find_kill_reason_name(ending.kill_reason)) + "\"" +
      text::format_json_field("cpu_us", ending.cpu_us) + text::format_json_field("wall_us", ending.wall_us) +
      text::format_json_field("waited_us", ending.waited_us) + text::format_json_field("memory", ending.memory_bytes) +
      ",\"confinement\":" + confinement + "}\n";
}

std::string format_report(const sys::Failure& failure) {
  return "{\"v\":2,\"failure\":" + json::quote(text::make_printable(failure.message, 1000)) + "}\n";
}

sys::Fd open_termination_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  return sys::Fd(signalfd(-1, &signals, SFD_CLOEXEC));
}

// Waits for the program. Stops it when a termination signal arrives or the caller closes the kill switch.
process::Ending wait_for_program(process::RunningProgram program, int kill_switch_fd, int termination_fd) {
  pollfd polled[] = {{program.report_fd(), POLLIN, 0}, {termination_fd, POLLIN, 0}, {kill_switch_fd, 0, 0}};
  while (poll(polled, 3, -1) < 0 && errno == EINTR) {
  }
  if (polled[0].revents == 0) program.request_stop();
  return program.wait_for_ending();
}

void set_environment_variable(std::vector<std::string>& env, const std::string& name, const std::string& value) {
  const std::string prefix = name + "=";
  for (std::string& variable : env)
    if (variable.compare(0, prefix.size(), prefix) == 0) {
      variable = prefix + value;
      return;
    }
  env.push_back(prefix + value);
}

// Removes read permission from this process's output pipes: a source can include /dev/stdout by name, and the compiler
// would wait for its own output forever. Pipes of other users cannot be opened anyway.
void forbid_reading_output_pipes() {
  for (const int fd : {STDOUT_FILENO, STDERR_FILENO}) {
    struct stat status;
    if (fstat(fd, &status) == 0 && S_ISFIFO(status.st_mode)) fchmod(fd, S_IWUSR);
  }
}

// Runs the program of a sandbox spec, and returns the report on its ending as JSON.
std::string run_spec_and_format_report(SandboxSpec& spec) {
  if (chdir(spec.folder.c_str()) != 0) sys::fail_errno("cannot enter " + spec.folder);
  const sys::Fd termination_fd = open_termination_signals();
  const std::vector<sys::Fd> linked_files = open_and_link_files(spec);
  chown_folders_of_linked_files(spec);
  if (!spec.program.starts_sandboxes) forbid_reading_output_pipes();
  std::vector<mounts::HostPath> readable_paths = sandbox::open_readable_paths(spec.readable_paths, spec.layers);
  sandbox::drop_privileges(spec.uid, spec.layers);
  std::vector<sandbox::OpenHostFile> host_files;
  for (size_t i = 0; i < linked_files.size(); ++i) host_files.push_back({linked_files[i].get(), spec.files[i].second});
  const sandbox::Sandbox sandbox = sandbox::enter_sandbox(spec.folder, std::move(readable_paths), spec.layers,
      spec.allow_unconfined, host_files, spec.program.starts_sandboxes);
  const int input = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3), output = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3),
            error = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
  spec.program.input = input;
  spec.program.output = output;
  spec.program.error = error;
  spec.program.folder = ".";
  spec.program.is_folder_writable = true;
  spec.program.tmp_size = "1g";
  spec.program.sees_proc = spec.has_proc;
  spec.program.may_use_threads = true;
  if (!sandbox.has_pid_namespace) {  // the program shares the machine's /tmp
    set_environment_variable(spec.program.env, "TMPDIR", spec.folder);
    set_environment_variable(spec.program.env, "HOME", spec.folder);
  }
  sandbox::make_undumpable(spec.layers);
  const process::Ending ending =
      wait_for_program(process::start_program(sandbox, spec.program), spec.kill_switch_fd, termination_fd.get());
  if (!ending.failure.empty()) sys::fail(ending.failure);
  return format_report(ending, sandbox.format_confinement());
}

bool write_report(int fd, const std::string& report) {
  return write(fd, report.data(), report.size()) == static_cast<ssize_t>(report.size());
}

}  // namespace

int run_sandbox_command(const std::string& spec_path) {
  SandboxSpec spec;
  try {
    const sys::Fd file(open(spec_path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file.valid()) sys::fail_errno("cannot open " + spec_path);
    files::mark_all_close_on_exec();
    spec = read_spec(json::parse(files::read_all(file.get(), max_spec_bytes)));
  } catch (const sys::Failure& failure) {
    write_report(spec.report_fd, format_report(failure));
    return 2;
  }
  try {
    return write_report(spec.report_fd, run_spec_and_format_report(spec)) ? 0 : 1;
  } catch (const sys::Failure& failure) {
    return write_report(spec.report_fd, format_report(failure)) ? 0 : 1;
  }
}

}  // namespace sandbox_command
