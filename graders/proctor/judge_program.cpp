#include "judge_program.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include "files.hpp"
#include "plan.hpp"

namespace judge_program {
namespace {

constexpr const char* names[3] = {input_name, answer_name, output_name};
constexpr int64_t largest_file = 64LL << 20;
constexpr int64_t most_processes = 64;

bool is_of_system(const std::string& program) { return program.find('/') != std::string::npos; }

std::optional<std::string> take(int folder, const char* name) {
  const sys::Fd fd(openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!fd.valid()) return std::nullopt;
  return files::read_text(fd.get(), checker_result::longest);
}

}  // namespace

Desk::Desk(std::string who, const std::vector<std::string>& argv, const process::Limits& limits)
    : who_(std::move(who)), argv_(argv), limits_(limits) {
  if (argv.empty()) sys::fail(who_ + ": a program expected");
  if (limits_.file_size == process::unlimited) limits_.file_size = largest_file;
  limits_.processes = most_processes;
  if (!is_of_system(argv[0])) {
    program_ = files::open_secret(plan::file_name(argv[0], "argv"));
    return;
  }
  // An interpreter: what follows is its script.
  if (argv.size() > 1) copied_.push_back(files::open_secret(plan::file_name(argv[1], "argv")));
}

void Desk::settle(const sandbox::Room& room, const std::string& folder, bool with_feedback) {
  room_ = &room;
  folder_ = folder;
  with_feedback_ = with_feedback;
  if (mkdir(folder.c_str(), 0755) != 0) sys::fail_errno("cannot make a folder for " + who_);
  if (with_feedback && mkdir((folder + "/" + feedback_name).c_str(), 0755) != 0)
    sys::fail_errno("cannot make a folder for feedback");
  for (int i = 0; i < 3; ++i) {
    places_[i] = sys::Fd(open("/dev/null", O_RDONLY | O_CLOEXEC));
    const std::string link = folder + "/" + names[i];
    if (symlink(("/proc/self/fd/" + std::to_string(places_[i].get())).c_str(), link.c_str()) != 0)
      sys::fail_errno("cannot link " + link);
  }
  copy_arguments();
}

void Desk::copy_arguments() const {
  for (const sys::Fd& script : copied_) {
    const std::string path = folder_ + "/" + argv_[1];
    const sys::Fd to(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
    if (!to.valid()) sys::fail_errno("cannot copy " + argv_[1]);
    files::copy(script.get(), to.get());
  }
}

void Desk::lay(int input, int answer, int output) {
  const int shown[3] = {input, answer, output};
  for (int i = 0; i < 3; ++i)
    if (shown[i] >= 0 && dup3(shown[i], places_[i].get(), O_CLOEXEC) < 0)
      sys::fail_errno("cannot hand a file to " + who_);
}

process::Program Desk::program(const std::vector<std::string>& arguments) const {
  process::Program program;
  const size_t own = is_of_system(argv_[0]) && argv_.size() > 1 ? 2 : 1;  // an interpreter's script belongs to its name
  program.argv.assign(argv_.begin(), argv_.begin() + static_cast<long>(own));
  program.argv.insert(program.argv.end(), arguments.begin(), arguments.end());
  program.argv.insert(program.argv.end(), argv_.begin() + static_cast<long>(own), argv_.end());
  program.env = {"PATH=/usr/bin:/bin", "LANG=C.UTF-8"};
  program.file = program_.valid() ? program_.get() : -1;
  for (const sys::Fd& place : places_) program.inherited.push_back(place.get());
  program.folder = folder_;
  if (with_feedback_) program.writable.push_back("feedback");
  program.tmp_size = "64m";
  program.proc = true;
  program.threads = true;
  program.profile = seccomp::Profile::tool;
  program.limits = limits_;
  return program;
}

void Desk::clear_feedback() const {
  if (with_feedback_) files::remove_all(folder_ + "/" + feedback_name);
}

sys::Fd Desk::take_next_pass() const {
  const std::string path = folder_ + "/" + feedback_name + "nextpass.in";
  const sys::Fd left(open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat status;
  if (!left.valid() || fstat(left.get(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
  const sys::Fd copied = files::memory("input");
  files::copy(left.get(), copied.get());
  if (unlink(path.c_str()) != 0) sys::fail_errno("cannot remove nextpass.in");
  return files::read_only(copied.get());
}

sys::Fd Desk::fresh_output() const {
  const std::string path = folder_ + "/" + written_name;
  unlink(path.c_str());
  sys::Fd file(open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (!file.valid()) sys::fail_errno("cannot make a file for " + who_);
  return file;
}

void Desk::collect_feedback(checker_result::Statement& statement, bool leave) const {
  if (!with_feedback_) return;
  const std::string path = folder_ + "/" + feedback_name;
  const sys::Fd folder(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  statement.score_file = take(folder.get(), "score.txt");
  statement.multiplier = take(folder.get(), "score_multiplier.txt");
  statement.message = take(folder.get(), "judgemessage.txt").value_or("");
  if (!leave) files::remove_all(path);
}

}  // namespace judge_program
