// The commands `proctor run PLAN` and `proctor stand`, which judge a submission on the tests of a plan. `stand` judges
// many plans in turn in the same sandbox.
#include "run_command.hpp"

#include <algorithm>
#include <csignal>
#include <fcntl.h>
#include <optional>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "checker.hpp"
#include "files.hpp"
#include "plan.hpp"
#include "sandbox.hpp"
#include "task.hpp"
#include "text.hpp"
#include "verdict.hpp"
#include "fork_server.hpp"

namespace run_command {
namespace {

constexpr size_t max_plan_bytes = 4 << 20;
constexpr long submission_uid = 65534;
constexpr const char* fork_server_folder_prefix =
    "waiting-";  // Prefix of the names of the folders with the fork servers' first scripts.

// Makes a write beyond the limit of file size fail with an error instead of a signal.
void ignore_sigxfsz() { signal(SIGXFSZ, SIG_IGN); }

// Returns a descriptor for the verdict lines. Standard input and output become /dev/null, so that no program can reach
// it.
sys::Fd take_over_standard_output() {
  sys::Fd lines_fd(fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3));
  const sys::Fd null_device(open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!lines_fd.valid() || !null_device.valid()) sys::fail_errno("cannot take standard output");
  dup2(null_device.get(), STDIN_FILENO);
  dup2(null_device.get(), STDOUT_FILENO);
  return lines_fd;
}

// Records which groups of tests have a score that can no longer change, by the rules of the plan.
class TestGroupStates {
 public:
  explicit TestGroupStates(const std::vector<plan::TestGroup>& groups)
      : groups_(groups), has_final_score_(groups.size(), false) {}

  bool are_group_scores_final(const plan::Test& test) const {
    for (const size_t group : test.groups)
      if (!has_final_score_[group]) return false;
    return !test.groups.empty();
  }

  void record_score(const plan::Test& test, double score) {
    for (const size_t group : test.groups)
      if (is_group_score_final(groups_[group], score)) has_final_score_[group] = true;
  }

 private:
  static bool is_group_score_final(const plan::TestGroup& group, double test_score) {
    switch (group.rule) {
      case plan::TestGroup::Rule::zero: return test_score <= 0;
      case plan::TestGroup::Rule::threshold: return test_score <= 0 || test_score > group.threshold;
      case plan::TestGroup::Rule::never: return false;
    }
    return false;
  }

  const std::vector<plan::TestGroup>& groups_;
  std::vector<bool> has_final_score_;
};

// A task type's name in plans, and the function that creates its task.
struct TaskType {
  const char* name;
  std::unique_ptr<task::Task> (*make_task)(const task::TaskContext&);
};
const TaskType task_types[] = {
    {"Batch", task::make_batch_task},
    {"Communication", task::make_communication_task},
    {"OutputOnly", task::make_output_only_task},
    {"TwoSteps", task::make_two_steps_task},
    {"BatchAndOutput", task::make_batch_and_output_task},
    {"Interactive", task::make_interactive_task},
    {"Function", task::make_function_task},
};

std::unique_ptr<task::Task> make_task(const task::TaskContext& context) {
  for (const TaskType& type : task_types)
    if (context.plan.task_type == type.name) return type.make_task(context);
  sys::fail("task_type: this proctor does not know " + context.plan.task_type);
}

// Makes the folder of the submission's files. If it `already_exists`, it is empty, and fork servers have it mounted.
void make_submission_folder(const plan::Plan& plan, long uid, bool already_exists) {
  if (!already_exists && mkdir(task::submission_folder, 0755) != 0)
    sys::fail_errno("cannot make the submission's folder");
  for (const std::string& name : plan.submission.files) {
    const sys::Fd source = files::open_job_file(name);
    const std::string path = std::string(task::submission_folder) + "/" + name;
    const sys::Fd target(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
    if (!target.valid()) sys::fail_errno("cannot copy " + name);
    files::copy_content(source.get(), target.get());
  }
  if (sandbox::can_drop_privileges() && plan.layers.is_enabled("uid") &&
      chown(task::submission_folder, static_cast<uid_t>(uid), static_cast<gid_t>(uid)) != 0)
    sys::fail_errno("cannot change the owner of the submission's folder");
}

// Opens the job's files and hides them. With `must_be_reopenable`, unprivileged programs can reopen the test files.
task::OpenFiles open_job_files(const plan::Plan& plan, bool must_be_reopenable) {
  task::OpenFiles files;
  const auto open_file_once = [&](const std::string& name) {
    if (name.empty() || files.test_files.count(name)) return;
    sys::Fd fd = files::open_job_file(name, plan.layers.is_enabled("unlinking"));
    files.test_files[name] = must_be_reopenable ? files::make_reopenable(std::move(fd)) : std::move(fd);
  };
  for (const plan::Test& test : plan.tests)
    open_file_once(test.input), open_file_once(test.answer), open_file_once(test.submitted_output);
  if (plan.submission.argv.empty()) return files;
  const std::string& program = plan.submission.argv[0];
  if (program.find('/') == std::string::npos) files.executable = files::open_job_file(program);
  return files;
}

// Judges the tests of a plan, except those whose groups are settled, and writes a line about each.
void judge_tests(
    const plan::Plan& plan, task::Task& task, streams::SubmissionStreams& streams, verdict::VerdictLines& lines) {
  TestGroupStates groups(plan.groups);
  for (const plan::Test& test : plan.tests) {
    if (groups.are_group_scores_final(test)) {
      lines.write_skipped(test.index);
      continue;
    }
    try {
      const verdict::Verdict verdict = task.judge(test);
      lines.write_verdict(test.index, verdict);
      // A program that stalls would probably stall on the other tests as well.
      if (verdict.end_reason == verdict::EndReason::wall && verdict.ending.is_stalled) return;
      groups.record_score(test, verdict.score);
    } catch (const sys::Failure& failure) {
      streams.discard_files_and_pipes();
      lines.write_failure(test.index, failure);
    }
  }
}

// The sandbox of one or more plans, and its fork servers, of which the last was used most recently.
class SandboxSession {
 public:
  // With `is_persistent`, several plans are judged in turn.
  explicit SandboxSession(bool is_persistent) : is_persistent_(is_persistent) {}

  // Enters the sandbox for the first plan, and returns it. Later plans must ask for the same sandbox.
  const sandbox::Sandbox& enter_sandbox(const plan::Plan& plan) {
    if (sandbox_) {
      const sandbox::SandboxLayers &current = sandbox_->layers, &requested = plan.layers;
      const bool has_same_layers = current.namespaces == requested.namespaces &&
          current.landlock == requested.landlock && current.seccomp == requested.seccomp;
      if (!has_same_layers || plan.readable_paths != readable_paths_) sys::fail("the plan needs another sandbox");
      return *sandbox_;
    }
    std::vector<mounts::HostPath> readable = sandbox::open_readable_paths(plan.readable_paths, plan.layers);
    sandbox::drop_privileges(submission_uid, plan.layers);
    sandbox_.emplace(sandbox::enter_sandbox(".", std::move(readable), plan.layers, plan.allow_unconfined));
    if (is_persistent_ && !sandbox_->has_pid_namespace) sys::fail("a persistent proctor needs namespaces");
    readable_paths_ = plan.readable_paths;
    sandbox::make_undumpable(plan.layers);
    return *sandbox_;
  }

  bool has_entered_sandbox() const { return sandbox_.has_value(); }

  streams::SubmissionStreams& streams() { return streams_; }

  // Creates the folder of a new fork server, unless a fork server with the plan's key runs. Must be called before the
  // sandbox is entered.
  void prepare_fork_server(const plan::Plan& plan) {
    if (!library_fd_.valid())
      library_fd_ = files::make_reopenable(files::open_job_file(plan.submission.fork_server.library));
    if (find_fork_server(fork_server::make_reuse_key(plan)) != fork_servers_.end()) return;
    fork_server::make_script_folder(
        plan, next_fork_server_folder_ = fork_server_folder_prefix + std::to_string(++fork_server_count_));
  }

  // Returns the fork server for the plan, and starts it if necessary. Returns null and sets `refusal` if it cannot be
  // started.
  fork_server::ForkServer* find_or_start_fork_server(const plan::Plan& plan, std::string& refusal) {
    const std::string key = fork_server::make_reuse_key(plan);
    const auto running = find_fork_server(key);
    if (running != fork_servers_.end()) {
      std::rotate(running, running + 1, fork_servers_.end());
      return fork_servers_.back().server.get();
    }
    auto started = std::make_unique<fork_server::ForkServer>(*sandbox_, plan, library_fd_, next_fork_server_folder_);
    refusal = started->failure();
    if (!refusal.empty()) return nullptr;
    if (fork_servers_.size() == max_fork_servers) fork_servers_.erase(fork_servers_.begin());
    fork_servers_.push_back({key, next_fork_server_folder_, std::move(started)});
    return fork_servers_.back().server.get();
  }

  // Removes all data of a submission, so that the next submission cannot read it, and stops fork servers that failed.
  void remove_submission() {
    streams_.empty_all_files();
    fork_servers_.erase(std::remove_if(fork_servers_.begin(), fork_servers_.end(),
                            [](const RunningForkServer& running) { return !running.server->failure().empty(); }),
        fork_servers_.end());
    files::remove_folder_content(task::submission_folder);
    files::remove_folder_content(".", [&](const std::string& name) {
      return name == task::submission_folder ||
          std::any_of(fork_servers_.begin(), fork_servers_.end(),
              [&](const RunningForkServer& running) { return running.folder == name; });
    });
  }

 private:
  struct RunningForkServer {
    std::string key, folder;
    std::unique_ptr<fork_server::ForkServer> server;
  };

  static constexpr size_t max_fork_servers = 8;  // Maximum number of fork servers; each uses about 10 MB.

  std::vector<RunningForkServer>::iterator find_fork_server(const std::string& key) {
    return std::find_if(fork_servers_.begin(), fork_servers_.end(),
        [&](const RunningForkServer& running) { return running.key == key; });
  }

  bool is_persistent_;
  std::optional<sandbox::Sandbox> sandbox_;
  streams::SubmissionStreams streams_;
  std::vector<std::string> readable_paths_;
  sys::Fd library_fd_;
  std::string next_fork_server_folder_;  // folder of the next fork server
  int fork_server_count_ = 0;
  std::vector<RunningForkServer> fork_servers_;
};

// Starts the fork server of a plan, if the plan asks for it.
class ForkServerRequest {
 public:
  // Must be called before the sandbox is entered.
  ForkServerRequest(const plan::Plan& plan, SandboxSession& session)
      : is_requested_(!plan.submission.fork_server.library.empty()), session_(session) {
    if (is_requested_) session.prepare_fork_server(plan);
  }

  fork_server::ForkServer* start_fork_server(const plan::Plan& plan) {
    if (!is_requested_) return nullptr;
    refusal_ = explain_refusal(plan);
    return refusal_.empty() ? session_.find_or_start_fork_server(plan, refusal_) : nullptr;
  }

  // Returns how the submission is started: forked, or started anew, with the reason. Empty if no fork server is wanted.
  std::string describe_start_method() const {
    return !is_requested_ ? "" : refusal_.empty() ? "forked" : "started: " + text::make_printable(refusal_, 500);
  }

 private:
  static std::string explain_refusal(const plan::Plan& plan) {
    if (plan.submission.max_processes > 1) return "a program that may start processes is not forked";
    for (const char* task_type : {"Batch", "BatchAndOutput", "Function"})
      if (plan.task_type == task_type) return "";
    return "programs of this task type are not forked";
  }

  bool is_requested_;
  SandboxSession& session_;
  std::string refusal_;
};

// Judges a plan and writes all lines except the last.
void judge_plan(const std::string& path, verdict::VerdictLines& lines, SandboxSession& session) {
  const sys::Fd file = files::open_job_file(path);
  const plan::Plan plan = plan::parse_plan(files::read_all(file.get(), max_plan_bytes));
  lines.set_nonce(plan.nonce);
  lines.set_makes_output_printable(plan.layers.is_enabled("cleaning"));
  if (!plan.layers.is_enabled("streams")) dup2(lines.output_fd(), STDOUT_FILENO);
  checker::Checker checker(plan.checker);
  std::unique_ptr<judge_program::JudgeProgram> manager;
  if (!plan.manager.argv.empty())
    manager = std::make_unique<judge_program::JudgeProgram>("the manager", plan.manager.argv, plan.manager.limits);
  make_submission_folder(plan, submission_uid, session.has_entered_sandbox());
  ForkServerRequest fork_server_request(plan, session);
  task::OpenFiles files = open_job_files(plan, checker.is_program() || manager);
  const sandbox::Sandbox& sandbox = session.enter_sandbox(plan);
  if (files.executable.valid() && !sandbox.has_mount_namespace && sandbox.layers.is_enabled("copies"))
    files.executable = files::copy_to_unnamed_file(files.executable);
  checker.make_folder(sandbox);
  if (manager) manager->make_folder(sandbox, "manage", plan.manager.kind == "icpc");
  fork_server::ForkServer* const server = fork_server_request.start_fork_server(plan);
  const std::unique_ptr<task::Task> task =
      make_task({plan, sandbox, files, checker, session.streams(), manager.get(), server});
  lines.write_start_line(sandbox.format_confinement(fork_server_request.describe_start_method()));
  judge_tests(plan, *task, session.streams(), lines);
}

// Reads the next line, without its line break. Returns false if there are no more lines.
bool read_line(int fd, std::string& line) {
  line.clear();
  for (char letter; read(fd, &letter, 1) == 1;) {
    if (letter == '\n') return true;
    line += letter;
  }
  return false;
}

}  // namespace

int run_plan_command(const std::string& plan_path) {
  verdict::VerdictLines lines(take_over_standard_output(), false);
  ignore_sigxfsz();
  try {
    files::mark_all_close_on_exec();
    SandboxSession session(false);
    judge_plan(plan_path, lines, session);
    lines.write_done();
    return 0;
  } catch (const sys::Failure& failure) {
    lines.write_fatal_failure(failure.message);
    return 2;
  }
}

int run_stdin_plans_command() {
  const sys::Fd bundle_names(fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3));
  verdict::VerdictLines lines(take_over_standard_output(), true);
  ignore_sigxfsz();
  try {
    files::mark_all_close_on_exec();
    SandboxSession session(true);
    for (std::string path; read_line(bundle_names.get(), path);) {
      judge_plan(files::load_bundle_and_find_plan(path), lines, session);
      session.remove_submission();  // the client writes the next bundle after the last line
      lines.write_done();
    }
    return 0;
  } catch (const sys::Failure& failure) {
    lines.write_fatal_failure(failure.message);
    return 2;
  }
}

}  // namespace run_command
