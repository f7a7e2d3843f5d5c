#include "judge_program.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include "files.hpp"
#include "plan.hpp"

namespace judge_program {
namespace {

constexpr const char* test_file_names[3] = {input_name, answer_name, output_name};
constexpr int64_t max_file_bytes = 64LL << 20;
constexpr int64_t max_processes = 64;

bool is_system_program(const std::string& program) { return program.find('/') != std::string::npos; }

std::optional<std::string> read_file_if_present(int folder_fd, const char* name) {
  const sys::Fd fd(openat(folder_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!fd.valid()) return std::nullopt;
  return files::read_up_to(fd.get(), checker_result::max_output_bytes);
}

}  // namespace

JudgeProgram::JudgeProgram(std::string name, const std::vector<std::string>& argv, const process::Limits& limits)
    : name_(std::move(name)), argv_(argv), limits_(limits) {
  if (argv.empty()) sys::fail(name_ + ": a program expected");
  if (limits_.file_size_bytes == process::unlimited) limits_.file_size_bytes = max_file_bytes;
  limits_.processes = max_processes;
  if (!is_system_program(argv[0])) {
    executable_ = files::open_job_file(plan::require_job_file_name(argv[0], "argv"));
    return;
  }
  // An interpreter, whose first argument is its script.
  if (argv.size() > 1) script_files_.push_back(files::open_job_file(plan::require_job_file_name(argv[1], "argv")));
}

void JudgeProgram::make_folder(const sandbox::Sandbox& sandbox, const std::string& folder, bool has_feedback_folder) {
  sandbox_ = &sandbox;
  folder_ = folder;
  has_feedback_folder_ = has_feedback_folder;
  if (mkdir(folder.c_str(), 0755) != 0) sys::fail_errno("cannot make a folder for " + name_);
  if (has_feedback_folder && mkdir((folder + "/" + feedback_name).c_str(), 0755) != 0)
    sys::fail_errno("cannot make a folder for feedback");
  for (int i = 0; i < 3; ++i) {
    link_target_fds_[i] = sys::Fd(open("/dev/null", O_RDONLY | O_CLOEXEC));
    const std::string link = folder + "/" + test_file_names[i];
    if (symlink(("/proc/self/fd/" + std::to_string(link_target_fds_[i].get())).c_str(), link.c_str()) != 0)
      sys::fail_errno("cannot link " + link);
  }
  copy_script();
}

void JudgeProgram::copy_script() const {
  for (const sys::Fd& script : script_files_) {
    const std::string path = folder_ + "/" + argv_[1];
    const sys::Fd target(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
    if (!target.valid()) sys::fail_errno("cannot copy " + argv_[1]);
    files::copy_content(script.get(), target.get());
  }
}

void JudgeProgram::link_test_files(int input_fd, int answer_fd, int output_fd) {
  const int fds[3] = {input_fd, answer_fd, output_fd};
  for (int i = 0; i < 3; ++i)
    if (fds[i] >= 0 && dup3(fds[i], link_target_fds_[i].get(), O_CLOEXEC) < 0)
      sys::fail_errno("cannot pass a file to " + name_);
}

process::Program JudgeProgram::make_program(const std::vector<std::string>& arguments) const {
  process::Program program;
  const size_t fixed_arguments =
      // an interpreter's script is the first argument
      is_system_program(argv_[0]) && argv_.size() > 1 ? 2 : 1;
  program.argv.assign(argv_.begin(), argv_.begin() + static_cast<long>(fixed_arguments));
  program.argv.insert(program.argv.end(), arguments.begin(), arguments.end());
  program.argv.insert(program.argv.end(), argv_.begin() + static_cast<long>(fixed_arguments), argv_.end());
  program.env = {"PATH=/usr/bin:/bin", "LANG=C.UTF-8"};
  program.executable = executable_.valid() ? executable_.get() : -1;
  for (const sys::Fd& target : link_target_fds_) program.inherited_fds.push_back(target.get());
  program.folder = folder_;
  if (has_feedback_folder_) program.writable_paths.push_back("feedback");
  program.tmp_size = "64m";
  program.sees_proc = true;
  program.may_use_threads = true;
  program.profile = seccomp::Profile::tool;
  program.limits = limits_;
  return program;
}

void JudgeProgram::clear_feedback() const {
  if (has_feedback_folder_) files::remove_folder_content(folder_ + "/" + feedback_name);
}

sys::Fd JudgeProgram::take_next_pass_input() const {
  const std::string path = folder_ + "/" + feedback_name + "nextpass.in";
  const sys::Fd next_input(open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat status;
  if (!next_input.valid() || fstat(next_input.get(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
  const sys::Fd input_copy = files::make_memory_file("input");
  files::copy_content(next_input.get(), input_copy.get());
  if (unlink(path.c_str()) != 0) sys::fail_errno("cannot remove nextpass.in");
  return files::reopen_read_only(input_copy.get());
}

sys::Fd JudgeProgram::make_output_file() const {
  const std::string path = folder_ + "/" + manager_output_name;
  unlink(path.c_str());
  sys::Fd file(open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (!file.valid()) sys::fail_errno("cannot make a file for " + name_);
  return file;
}

void JudgeProgram::collect_feedback(checker_result::CheckerOutput& output, bool keeps_files) const {
  if (!has_feedback_folder_) return;
  const std::string path = folder_ + "/" + feedback_name;
  const sys::Fd folder(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  output.score_file = read_file_if_present(folder.get(), "score.txt");
  output.multiplier_file = read_file_if_present(folder.get(), "score_multiplier.txt");
  output.judge_message = read_file_if_present(folder.get(), "judgemessage.txt").value_or("");
  if (!keeps_files) files::remove_folder_content(path);
}

}  // namespace judge_program
