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

constexpr size_t largest_spec = 4 << 20;
constexpr int64_t version = 2;
constexpr int first_linked = 64;  // scripts use the numbers below as they like

struct Spec {
  process::Program program;
  std::string dir;
  std::vector<std::pair<std::string, std::string>> files;  // name in the box, path on the host
  std::vector<std::string> readable;
  sandbox::Layers layers;
  long uid = 0;
  int report = STDERR_FILENO, leash = -1;
  bool allow_unconfined = false;
  bool proc = true;  // without it no file that is open has a name, and no other process is seen
};

void read_profile(const std::string& name, process::Program& program) {
  if (name != "tool" && name != "stage") sys::fail("profile: tool or stage expected, not " + name);
  program.nests = name == "stage";
  program.profile = program.nests ? seccomp::Profile::stage : seccomp::Profile::tool;
}

Spec read_spec(const json::Value& value) {
  if (value.at("version").as_whole("version") != version)
    sys::fail("version: this proctor reads box specs of version 2");
  Spec spec;
  spec.report = static_cast<int>(value.at("report_fd").whole_or(STDERR_FILENO, "report_fd"));
  spec.leash = static_cast<int>(value.at("leash_fd").whole_or(-1, "leash_fd"));
  spec.program.argv = value.at("argv").texts("argv");
  if (spec.program.argv.empty() || spec.program.argv[0].find('/') == std::string::npos)
    sys::fail("argv: the path of a program expected");
  for (const auto& variable : value.at("env").object)
    spec.program.env.push_back(variable.first + "=" + variable.second.as_text("env"));
  spec.dir = value.at("dir").as_text("dir");
  for (const json::Value& file : value.at("files").as_list("files"))
    spec.files.emplace_back(plan::file_name(file.at("name").as_text("files.name"), "files.name"),
        file.at("path").as_text("files.path"));
  for (const std::string& place : value.at("read").texts("read"))
    if (place == "/proc")
      spec.program.proc_of_box = true;  // never the machine's
    else
      spec.readable.push_back(place);
  spec.proc = value.at("proc").boolean_or(true, "proc");
  read_profile(value.at("profile").as_text("profile"), spec.program);
  // For scripts; what they start a proctor for does without.
  if (spec.program.nests) spec.readable.push_back("/dev/zero");
  spec.uid = static_cast<long>(value.at("uid").whole_or(0, "uid"));
  spec.program.limits = plan::read_limits(value.at("limits"), "file_size");
  spec.program.limits.open_files =
      value.at("limits").at("open_files").whole_or(process::unlimited, "limits.open_files");
  spec.layers = sandbox::Layers::of(value);
  spec.allow_unconfined = value.at("allow_unconfined").boolean_or(false, "allow_unconfined");
  return spec;
}

void make_parents(const std::string& name) {
  for (size_t slash = name.find('/'); slash != std::string::npos; slash = name.find('/', slash + 1))
    mkdir(name.substr(0, slash).c_str(), 0755);
}

// Opens the host's files while we still may, and links them into the folder by descriptor. They stay open across the
// program's start.
std::vector<sys::Fd> link_files(Spec& spec) {
  std::vector<sys::Fd> opened;
  for (const auto& file : spec.files) {
    const sys::Fd low(open(file.second.c_str(), O_RDONLY | O_CLOEXEC));
    if (!low.valid()) sys::fail_errno("cannot open " + file.second);
    sys::Fd fd(fcntl(low.get(), F_DUPFD_CLOEXEC, first_linked));
    if (!fd.valid()) sys::fail_errno("cannot keep " + file.second + " open");
    make_parents(file.first);
    if (symlink(("/proc/self/fd/" + std::to_string(fd.get())).c_str(), file.first.c_str()) != 0)
      sys::fail_errno("cannot link " + file.first);
    spec.program.inherited.push_back(fd.get());
    opened.push_back(std::move(fd));
  }
  return opened;
}

void own_links(const Spec& spec) {
  if (!sandbox::can_drop_privileges()) return;
  for (const auto& file : spec.files)
    for (size_t slash = file.first.find('/'); slash != std::string::npos; slash = file.first.find('/', slash + 1))
      if (chown(file.first.substr(0, slash).c_str(), static_cast<uid_t>(spec.uid), static_cast<gid_t>(spec.uid)) != 0)
        sys::fail_errno("cannot give away a folder");
}

const char* name(process::Killed killed) {
  switch (killed) {
    case process::Killed::no: return "";
    case process::Killed::cpu: return "cpu";
    case process::Killed::wall: return "wall";
    case process::Killed::memory: return "memory";
    case process::Killed::processes: return "processes";
    case process::Killed::threads: return "threads";
    case process::Killed::disk: return "disk";
    case process::Killed::leash: return "leash";
  }
  return "";
}

std::string described(const process::Outcome& outcome, const std::string& confinement) {
  return "{\"v\":2" + text::field("code", outcome.code) + text::field("signal", outcome.signal) + ",\"killed\":\"" +
         (outcome.stalled ? "hard" : name(outcome.killed)) + "\"" + text::field("cpu_us", outcome.cpu_us) +
         text::field("wall_us", outcome.wall_us) + text::field("waited_us", outcome.waited_us) +
         text::field("memory", outcome.memory) + ",\"confinement\":" + confinement + "}\n";
}

std::string described(const sys::Failure& failure) {
  return "{\"v\":2,\"failure\":" + json::quote(text::printable(failure.text, 1000)) + "}\n";
}

sys::Fd termination() {
  sigset_t asked;
  sigemptyset(&asked);
  sigaddset(&asked, SIGTERM);
  sigaddset(&asked, SIGINT);
  sigprocmask(SIG_BLOCK, &asked, nullptr);
  return sys::Fd(signalfd(-1, &asked, SFD_CLOEXEC));
}

// Waits for the program; stops it when we are asked to end or when the one who started us is gone.
process::Outcome watch(process::Running running, int leash, int asked) {
  pollfd watched[] = {{running.report(), POLLIN, 0}, {asked, POLLIN, 0}, {leash, 0, 0}};
  while (poll(watched, 3, -1) < 0 && errno == EINTR) {}
  if (watched[0].revents == 0) running.stop();
  return running.wait();
}

void set_variable(std::vector<std::string>& env, const std::string& name, const std::string& value) {
  const std::string head = name + "=";
  for (std::string& variable : env)
    if (variable.compare(0, head.size(), head) == 0) {
      variable = head + value;
      return;
    }
  env.push_back(head + value);
}

// A compiler that opens what it writes to, to read it, would wait for itself: a source can name such a pipe. What is
// not ours it cannot open either.
void close_pipes() {
  for (const int fd : {STDOUT_FILENO, STDERR_FILENO}) {
    struct stat status;
    if (fstat(fd, &status) == 0 && S_ISFIFO(status.st_mode)) fchmod(fd, S_IWUSR);
  }
}

std::string run_box(Spec& spec) {
  if (chdir(spec.dir.c_str()) != 0) sys::fail_errno("cannot enter " + spec.dir);
  const sys::Fd asked = termination();
  const std::vector<sys::Fd> opened = link_files(spec);
  own_links(spec);
  if (!spec.program.nests) close_pipes();
  std::vector<mounts::Shown> readable = sandbox::open_for_others(spec.readable, spec.layers);
  sandbox::drop_privileges(spec.uid, spec.layers);
  std::vector<sandbox::Held> held;
  for (size_t i = 0; i < opened.size(); ++i) held.push_back({opened[i].get(), spec.files[i].second});
  const sandbox::Room room =
      sandbox::enter(spec.dir, std::move(readable), spec.layers, spec.allow_unconfined, held, spec.program.nests);
  const int input = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3), output = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3),
      error = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
  spec.program.input = input;
  spec.program.output = output;
  spec.program.error = error;
  spec.program.folder = ".";
  spec.program.folder_writable = true;
  spec.program.tmp_size = "1g";
  spec.program.proc = spec.proc;
  spec.program.threads = true;
  if (!room.pid) {  // there is no /tmp of its own
    set_variable(spec.program.env, "TMPDIR", spec.dir);
    set_variable(spec.program.env, "HOME", spec.dir);
  }
  sandbox::close_to_others(spec.layers);
  const process::Outcome outcome = watch(process::start(room, spec.program), spec.leash, asked.get());
  if (!outcome.failure.empty()) sys::fail(outcome.failure);
  return described(outcome, room.report());
}

bool tell(int fd, const std::string& report) {
  return write(fd, report.data(), report.size()) == static_cast<ssize_t>(report.size());
}

}  // namespace

int command(const std::string& path) {
  Spec spec;
  try {
    const sys::Fd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file.valid()) sys::fail_errno("cannot open " + path);
    files::close_all_on_exec();
    spec = read_spec(json::parse(files::read_all(file.get(), largest_spec)));
  } catch (const sys::Failure& failure) {
    tell(spec.report, described(failure));
    return 2;
  }
  try {
    return tell(spec.report, run_box(spec)) ? 0 : 1;
  } catch (const sys::Failure& failure) {
    return tell(spec.report, described(failure)) ? 0 : 1;
  }
}

}  // namespace sandbox_command
