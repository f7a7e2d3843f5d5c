// proctor run PLAN: judges a submission on the tests of a plan.
#include "run.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "checker.hpp"
#include "files.hpp"
#include "plan.hpp"
#include "room.hpp"
#include "task.hpp"
#include "text.hpp"
#include "verdict.hpp"
#include "warm.hpp"

namespace run {
namespace {

constexpr size_t largest_plan = 4 << 20;

// The verdict lines' descriptor, out of reach of everything that is started later.
sys::Fd take_standard_output() {
  sys::Fd out(fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3));
  const sys::Fd nowhere(open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!out.valid() || !nowhere.valid()) sys::fail_errno("standard output");
  dup2(nowhere.get(), STDIN_FILENO);
  dup2(nowhere.get(), STDOUT_FILENO);
  return out;
}

// The settling rules of the plan: which groups can still change.
class Groups {
 public:
  explicit Groups(const std::vector<plan::Group>& groups) : groups_(groups), settled_(groups.size(), false) {}

  bool settled(const plan::Test& test) const {
    for (const size_t group : test.groups)
      if (!settled_[group]) return false;
    return !test.groups.empty();
  }

  void record(const plan::Test& test, double score) {
    for (const size_t group : test.groups)
      if (settles(groups_[group], score)) settled_[group] = true;
  }

 private:
  static bool settles(const plan::Group& group, double score) {
    switch (group.rule) {
      case plan::Group::Rule::zero: return score <= 0;
      case plan::Group::Rule::threshold: return score <= 0 || score > group.threshold;
      case plan::Group::Rule::never: return false;
    }
    return false;
  }

  const std::vector<plan::Group>& groups_;
  std::vector<bool> settled_;
};

struct TaskType {
  const char* name;
  std::unique_ptr<task::Task> (*make)(const task::Parts&);
};
const TaskType task_types[] = {
    {"Batch", [](const task::Parts& parts) { return task::make_batch(parts); }},
    {"Communication", task::make_communication},
    {"OutputOnly", task::make_output_only},
    {"TwoSteps", task::make_two_steps},
    {"BatchAndOutput", task::make_batch_and_output},
    {"Interactive", task::make_interactive},
    {"Function", task::make_function},
};

std::unique_ptr<task::Task> make_task(const task::Parts& parts) {
  for (const TaskType& type : task_types)
    if (parts.plan.task_type == type.name) return type.make(parts);
  sys::fail("task_type: this proctor does not know " + parts.plan.task_type);
}

void make_own_folder(const plan::Plan& plan, long uid) {
  if (mkdir(task::own_folder, 0755) != 0) sys::fail_errno("cannot make the submission's folder");
  for (const std::string& name : plan.submission.files) {
    const sys::Fd from = files::open_secret(name);
    const std::string path = std::string(task::own_folder) + "/" + name;
    const sys::Fd to(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
    if (!to.valid()) sys::fail_errno("cannot copy " + name);
    files::copy(from.get(), to.get());
  }
  if (room::can_drop_privileges() && plan.layers.on("uid") && chown(task::own_folder, static_cast<uid_t>(uid), static_cast<gid_t>(uid)) != 0) sys::fail_errno("give away the submission's folder");
}

task::Opened open_all(const plan::Plan& plan, bool for_checker) {
  task::Opened opened;
  const auto open_once = [&](const std::string& name) {
    if (name.empty() || opened.secrets.count(name)) return;
    sys::Fd fd = files::open_secret(name, plan.layers.on("unlinking"));
    opened.secrets[name] = for_checker ? files::reopenable(std::move(fd)) : std::move(fd);
  };
  for (const plan::Test& test : plan.tests) open_once(test.input), open_once(test.answer), open_once(test.output);
  if (plan.submission.argv.empty()) return opened;
  const std::string& program = plan.submission.argv[0];
  if (program.find('/') == std::string::npos) opened.program = files::open_secret(program);
  return opened;
}

void judge_all(const plan::Plan& plan, task::Task& task, verdict::Lines& lines) {
  Groups groups(plan.groups);
  for (const plan::Test& test : plan.tests) {
    if (groups.settled(test)) {
      lines.skipped(test.index);
      continue;
    }
    try {
      const verdict::Verdict verdict = task.judge(test);
      lines.judged(test.index, verdict);
      groups.record(test, verdict.score);
    } catch (const sys::Failure& failure) {
      lines.failed(test.index, failure);
    }
  }
}

// For a submission that asks for one.
class Waiting {
 public:
  // Before the room is entered.
  explicit Waiting(const plan::Plan& plan) : asked_(!plan.submission.warm.library.empty()) {
    if (!asked_) return;
    warm::make_folder(plan);
    library_ = files::reopenable(files::open_secret(plan.submission.warm.library));
  }

  warm::Interpreter* start(const room::Room& room, const plan::Plan& plan) {
    if (!asked_) return nullptr;
    why_not_ = reason_against(plan);
    if (!why_not_.empty()) return nullptr;
    interpreter_ = std::make_unique<warm::Interpreter>(room, plan, library_);
    why_not_ = interpreter_->missing();
    return why_not_.empty() ? interpreter_.get() : nullptr;
  }

  std::string report() const { return !asked_ ? "" : why_not_.empty() ? "forked" : "started: " + text::printable(why_not_, 500); }

 private:
  static std::string reason_against(const plan::Plan& plan) {
    for (const char* alone : {"Batch", "BatchAndOutput", "Function"})
      if (plan.task_type == alone) return "";
    return "programs that run together are started";
  }

  bool asked_;
  std::string why_not_;
  sys::Fd library_;
  std::unique_ptr<warm::Interpreter> interpreter_;
};

void judge_plan(const std::string& path, verdict::Lines& lines) {
  constexpr long uid = 65534;
  const sys::Fd file = files::open_secret(path);
  const plan::Plan plan = plan::parse(files::read_all(file.get(), largest_plan));
  lines.set_nonce(plan.nonce);
  lines.set_cleaning(plan.layers.on("cleaning"));
  if (!plan.layers.on("streams")) dup2(lines.descriptor(), STDOUT_FILENO);
  checker::Checker checker(plan.checker);
  std::unique_ptr<desk::Desk> manager;
  if (!plan.manager.argv.empty()) manager = std::make_unique<desk::Desk>("the manager", plan.manager.argv, plan.manager.limits);
  make_own_folder(plan, uid);
  Waiting waiting(plan);
  task::Opened opened = open_all(plan, checker.is_program() || manager);
  room::drop_privileges(uid, plan.layers);
  const room::Room room = room::enter(".", plan.readable, plan.layers, plan.allow_unconfined);
  room::close_to_others(plan.layers);
  if (opened.program.valid() && !room.mount && room.layers.on("copies")) opened.program = files::nameless_program(opened.program);
  checker.settle(room);
  if (manager) manager->settle(room, "manage", plan.manager.kind == "icpc");
  warm::Interpreter* const interpreter = waiting.start(room, plan);
  const std::unique_ptr<task::Task> task = make_task({plan, room, opened, checker, manager.get(), interpreter});
  lines.start(room.report(waiting.report()));
  judge_all(plan, *task, lines);
  lines.done();
}

}  // namespace

int command(const std::string& path) {
  verdict::Lines lines(take_standard_output());
  try {
    files::close_all_on_exec();
    judge_plan(path, lines);
    return 0;
  } catch (const sys::Failure& failure) {
    lines.fatal(failure.text);
    return 2;
  }
}

}  // namespace run
