// proctor run PLAN: judges a submission on the tests of a plan. proctor stand: one plan after the other, in one room.
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

constexpr size_t largest_plan = 4 << 20;
constexpr long nobody = 65534;
constexpr const char* waiting_folder = "waiting-";  // how folders begin that interpreters find their first script in

// A file that may not become so large is then a failure that is told, and no end.
void survive_large_files() { signal(SIGXFSZ, SIG_IGN); }

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
    {"Batch", task::make_batch},
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

// `is_there`: it is empty, and those who wait have it mounted.
void make_own_folder(const plan::Plan& plan, long uid, bool is_there) {
  if (!is_there && mkdir(task::own_folder, 0755) != 0) sys::fail_errno("cannot make the submission's folder");
  for (const std::string& name : plan.submission.files) {
    const sys::Fd from = files::open_secret(name);
    const std::string path = std::string(task::own_folder) + "/" + name;
    const sys::Fd to(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
    if (!to.valid()) sys::fail_errno("cannot copy " + name);
    files::copy(from.get(), to.get());
  }
  if (sandbox::can_drop_privileges() && plan.layers.on("uid") &&
      chown(task::own_folder, static_cast<uid_t>(uid),
          static_cast<gid_t>(uid)) != 0) sys::fail_errno("give away the submission's folder");
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

void judge_all(const plan::Plan& plan, task::Task& task, streams::Streams& streams, verdict::Lines& lines) {
  Groups groups(plan.groups);
  for (const plan::Test& test : plan.tests) {
    if (groups.settled(test)) {
      lines.skipped(test.index);
      continue;
    }
    try {
      const verdict::Verdict verdict = task.judge(test);
      lines.judged(test.index, verdict);
      // What else it would keep us from is not tried.
      if (verdict.end == verdict::End::wall && verdict.used.stalled) return;
      groups.record(test, verdict.score);
    } catch (const sys::Failure& failure) {
      streams.replace();
      lines.failed(test.index, failure);
    }
  }
}

// A room and the interpreters that wait in it, the one that was used last behind the others.
class Place {
 public:
  // `stays`: submissions follow each other here.
  explicit Place(bool stays) : stays_(stays) {}

  // The first plan makes the room; those that come later are to be played in the same.
  const sandbox::Room& enter(const plan::Plan& plan) {
    if (room_) {
      const sandbox::Layers &here = room_->layers, &there = plan.layers;
      const bool same = here.namespaces == there.namespaces && here.landlock == there.landlock &&
          here.seccomp == there.seccomp;
      if (!same || plan.readable != readable_) sys::fail("the plan asks for another room");
      return *room_;
    }
    std::vector<mounts::Shown> readable = sandbox::open_for_others(plan.readable, plan.layers);
    sandbox::drop_privileges(nobody, plan.layers);
    room_.emplace(sandbox::enter(".", std::move(readable), plan.layers, plan.allow_unconfined));
    if (stays_ && !room_->pid) sys::fail("submissions can follow each other in namespaces only");
    readable_ = plan.readable;
    sandbox::close_to_others(plan.layers);
    return *room_;
  }

  bool is_entered() const { return room_.has_value(); }

  streams::Streams& streams() { return streams_; }

  // For a submission that asks for an interpreter that none waits as: before the room is entered for the first time.
  void prepare(const plan::Plan& plan) {
    if (!library_.valid()) library_ = files::reopenable(files::open_secret(plan.submission.warm.library));
    if (find(fork_server::key(plan)) != waiting_.end()) return;
    fork_server::make_folder(plan, folder_ = waiting_folder + std::to_string(++made_));
  }

  // The one that waits for programs as the plan's is, or `why_not`.
  fork_server::Interpreter* interpreter(const plan::Plan& plan, std::string& why_not) {
    const std::string wanted = fork_server::key(plan);
    const auto found = find(wanted);
    if (found != waiting_.end()) {
      std::rotate(found, found + 1, waiting_.end());
      return waiting_.back().itself.get();
    }
    auto started = std::make_unique<fork_server::Interpreter>(*room_, plan, library_, folder_);
    why_not = started->missing();
    if (!why_not.empty()) return nullptr;
    if (waiting_.size() == most_waiting) waiting_.erase(waiting_.begin());
    waiting_.push_back({wanted, folder_, std::move(started)});
    return waiting_.back().itself.get();
  }

  // Nothing of a submission may meet the next one, nor what it was started for go on.
  void leave_nothing() {
    streams_.clear();
    waiting_.erase(std::remove_if(waiting_.begin(), waiting_.end(),
        [](const One& one) { return !one.itself->missing().empty(); }), waiting_.end());
    files::remove_all(task::own_folder);
    files::remove_all(".", [&](const std::string& name) {
      return name == task::own_folder ||
          std::any_of(waiting_.begin(), waiting_.end(), [&](const One& one) { return one.folder == name; });
    });
  }

 private:
  struct One {
    std::string key, folder;
    std::unique_ptr<fork_server::Interpreter> itself;
  };

  static constexpr size_t most_waiting = 8;  // about 10 MB each

  std::vector<One>::iterator find(const std::string& key) {
    return std::find_if(waiting_.begin(), waiting_.end(), [&](const One& one) { return one.key == key; });
  }

  bool stays_;
  std::optional<sandbox::Room> room_;
  streams::Streams streams_;
  std::vector<std::string> readable_;
  sys::Fd library_;
  std::string folder_;  // of the one that is started next
  int made_ = 0;
  std::vector<One> waiting_;
};

// For a submission that asks for one.
class Waiting {
 public:
  // Before the room is entered.
  Waiting(const plan::Plan& plan, Place& place) : asked_(!plan.submission.warm.library.empty()), place_(place) {
    if (asked_) place.prepare(plan);
  }

  fork_server::Interpreter* start(const plan::Plan& plan) {
    if (!asked_) return nullptr;
    why_not_ = reason_against(plan);
    return why_not_.empty() ? place_.interpreter(plan, why_not_) : nullptr;
  }

  std::string report() const {
    return !asked_ ? "" : why_not_.empty() ? "forked" : "started: " + text::printable(why_not_, 500);
  }

 private:
  static std::string reason_against(const plan::Plan& plan) {
    if (plan.submission.processes > 1) return "a program that may start others is started itself";
    for (const char* alone : {"Batch", "BatchAndOutput", "Function"})
      if (plan.task_type == alone) return "";
    return "programs that run together are started";
  }

  bool asked_;
  Place& place_;
  std::string why_not_;
};

// All but the last line.
void judge_plan(const std::string& path, verdict::Lines& lines, Place& place) {
  const sys::Fd file = files::open_secret(path);
  const plan::Plan plan = plan::parse(files::read_all(file.get(), largest_plan));
  lines.set_nonce(plan.nonce);
  lines.set_cleaning(plan.layers.on("cleaning"));
  if (!plan.layers.on("streams")) dup2(lines.descriptor(), STDOUT_FILENO);
  checker::Checker checker(plan.checker);
  std::unique_ptr<judge_program::Desk> manager;
  if (!plan.manager.argv.empty())
    manager = std::make_unique<judge_program::Desk>("the manager", plan.manager.argv, plan.manager.limits);
  make_own_folder(plan, nobody, place.is_entered());
  Waiting waiting(plan, place);
  task::Opened opened = open_all(plan, checker.is_program() || manager);
  const sandbox::Room& room = place.enter(plan);
  if (opened.program.valid() && !room.mount && room.layers.on("copies"))
    opened.program = files::nameless_program(opened.program);
  checker.settle(room);
  if (manager) manager->settle(room, "manage", plan.manager.kind == "icpc");
  fork_server::Interpreter* const interpreter = waiting.start(plan);
  const std::unique_ptr<task::Task> task =
      make_task({plan, room, opened, checker, place.streams(), manager.get(), interpreter});
  lines.start(room.report(waiting.report()));
  judge_all(plan, *task, place.streams(), lines);
}

// The next line, without its end; false where there is none.
bool read_line(int from, std::string& line) {
  line.clear();
  for (char letter; read(from, &letter, 1) == 1;) {
    if (letter == '\n') return true;
    line += letter;
  }
  return false;
}

}  // namespace

int command(const std::string& path) {
  verdict::Lines lines(take_standard_output());
  survive_large_files();
  try {
    files::close_all_on_exec();
    Place place(false);
    judge_plan(path, lines, place);
    lines.done();
    return 0;
  } catch (const sys::Failure& failure) {
    lines.fatal(failure.text);
    return 2;
  }
}

int stand() {
  const sys::Fd orders(fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3));
  verdict::Lines lines(take_standard_output());
  survive_large_files();
  try {
    files::close_all_on_exec();
    Place place(true);
    for (std::string path; read_line(orders.get(), path);) {
      judge_plan(path, lines, place);
      place.leave_nothing();  // before anybody can lay out what comes next
      lines.done();
    }
    return 0;
  } catch (const sys::Failure& failure) {
    lines.fatal(failure.text);
    return 2;
  }
}

}  // namespace run_command
