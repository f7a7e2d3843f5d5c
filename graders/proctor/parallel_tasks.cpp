// Task types of several programs that run at the same time.
#include <algorithm>
#include <csignal>
#include <functional>
#include <poll.h>
#include <utility>
#include <vector>

#include "child.hpp"
#include "pipes.hpp"
#include "task.hpp"

namespace task {
namespace {

// One of several processes of a submission that are judged as one.
struct Member {
  process::Running running;
  int error;  // what it wrote to its standard error
};

enum class CpuTime { summed, each };  // what the limit holds for

bool is_limit(verdict::End end) {
  return end != verdict::End::ok && end != verdict::End::exit && end != verdict::End::signal;
}

void take(verdict::Verdict& whole, const process::Outcome& part, verdict::End end, int error) {
  whole.used.cpu_us += part.cpu_us;
  whole.used.memory += part.memory;
  whole.used.written += part.written;
  whole.used.wall_us = std::max(whole.used.wall_us, part.wall_us);
  whole.used.waited_us += part.waited_us;
  whole.used.stalled = whole.used.stalled || part.stalled;
  whole.used.outside = whole.used.outside || part.outside;
  whole.used.crowded = whole.used.crowded || part.crowded;
  const bool graver = whole.end == verdict::End::ok ? end != verdict::End::ok : is_limit(end) && !is_limit(whole.end);
  if (!graver) return;
  whole.end = end;
  whole.used.code = part.code;
  whole.used.signal = part.signal;
  whole.feedback = last_words(error);
}

// CPU time is summed and, if so asked, measured against the limit together, memory is summed for the report, wall time
// is the longest. The first cause counts: a limit before an exit code or signal, which the end of a partner may have
// brought about. Fails (sys::Failure) when one of the boxes could not be made.
verdict::Verdict wait_for(std::vector<Member>& members, const process::Limits& limits, CpuTime cpu_time) {
  verdict::Verdict whole;
  std::string failure;
  for (Member& member : members) {
    const process::Outcome part = member.running.wait();
    if (!part.failure.empty()) failure = part.failure;
    take(whole, part, end_of(part, limits, files::size(member.error)), member.error);
  }
  if (!failure.empty()) sys::fail(failure, whole.used.outside);
  if (!is_limit(whole.end) && whole.used.outside) fail_of_outside();
  if (cpu_time == CpuTime::summed && !is_limit(whole.end) && limits.cpu_us != process::unlimited &&
      whole.used.cpu_us >= process::cpu_limit(limits, whole.used.crowded)) whole.end = verdict::End::cpu;
  return whole;
}

// Whether the one who judges ended at a limit of its own because the submission had more to say than an output may
// hold.
bool drowned(const process::Outcome& judge, const verdict::Verdict& verdict, const process::Limits& limits) {
  return judge.killed != process::Killed::no && limits.file_size != process::unlimited &&
      verdict.used.written > limits.file_size;
}

class Together : public Task {
 public:
  using Task::Task;

 protected:
  // Starts one of the submission's processes, after `arrange` has given it its descriptors and arguments.
  Member start(idle_time::Clock& clock, size_t member, const std::function<void(process::Program&)>& arrange) const {
    const int error = streams_.file("error", member);
    const sys::Fd told = files::write_only(error);
    process::Program program = submission();
    program.clock = &clock;
    program.member = member;
    program.error = told.get();
    arrange(program);
    return {process::start(room_, program), error};
  }

  // Starts the manager or interactor.
  process::Running start_judge(process::Program& program, int input, int output, int told, idle_time::Clock& clock,
      size_t member) const {
    program.input = input;
    program.output = output;
    program.error = told;
    program.clock = &clock;
    program.member = member;
    return process::start(room_, program);
  }

  // What became of the manager or interactor, still without its words.
  checker_result::Statement outcome_of(process::Running& judge, verdict::Verdict& verdict) const {
    checker_result::Statement statement;
    statement.who = manager_->who();
    statement.outcome = process::held_to(plan_.manager.limits, judge.wait());
    verdict.used.waited_us += statement.outcome.waited_us;
    return statement;
  }
};

// TwoSteps: the submission runs twice at the same time, the first run hands what it found out to the second.
class TwoSteps : public Together {
 public:
  using Together::Together;

  verdict::Verdict judge(const plan::Test& test) override {
    pipes::Pipe between = streams_.pipe("between");
    const int output = streams_.file("output");
    const sys::Fd said = files::write_only(output);
    idle_time::Clock clock(2);
    std::vector<Member> members;
    members.push_back(start_step(clock, 0, between.write, &test.input, -1));
    members.push_back(start_step(clock, 1, between.read, nullptr, said.get()));
    between.close();
    verdict::Verdict verdict = wait_for(members, judged_limits(), CpuTime::each);
    if (verdict.end == verdict::End::ok && files::size(output) > limit(judged_limits().file_size))
      verdict.end = verdict::End::output;
    if (verdict.end == verdict::End::ok) check(verdict, test, output);
    return verdict;
  }

 private:
  static int64_t limit(int64_t value) { return value == process::unlimited ? INT64_MAX : value; }

  Member start_step(
      idle_time::Clock& clock, size_t step, const sys::Fd& end, const std::string* input, int output) const {
    sys::Fd copied;
    return start(clock, step, [&](process::Program& program) {
      program.argv.push_back(std::to_string(step));
      program.argv.push_back(pipes::path(end));
      program.inherited.push_back(end.get());
      program.streams = true;
      if (input) copied = hand_input(opened_.of(*input), program);
      program.output = output;
    });
  }
};

// The two ways between the manager and one process.
struct Line {
  // In this order everybody lets go of them: who reads of a partner's end can write to nobody by then.
  pipes::Pipe to_user, to_manager;
};

// Communication: a manager talks to one or more processes of the submission, and says what they are worth.
class Communication : public Together {
 public:
  explicit Communication(const Parts& parts) : Together(parts) {
    if (!manager_) sys::fail("manager: a Communication task needs one");
  }

  verdict::Verdict judge(const plan::Test& test) override {
    std::vector<Line> lines;
    for (size_t index = 0; index < static_cast<size_t>(plan_.processes); ++index)
      lines.push_back({streams_.pipe("to user", index), streams_.pipe("to manager", index)});
    const sys::Fd said = files::memory("said"), told = files::memory("told");
    manager_->lay(opened_.of(test.input), answer_of(test), -1);
    const sys::Fd written = manager_->fresh_output();
    idle_time::Clock clock(lines.size() + 1);
    process::Running manager = start_manager(test, lines, said.get(), told.get(), clock);
    std::vector<Member> members = start_members(lines, clock);
    for (Line& line : lines) line.to_user.close(), line.to_manager.close();
    verdict::Verdict verdict = wait_for(members, judged_limits(), CpuTime::summed);
    checker_result::Statement statement = outcome_of(manager, verdict);
    // On purpose also where the manager then broke: it was left alone by the process that failed.
    const bool blamed = room_.layers.on("blame");
    if (verdict.end != verdict::End::ok && blamed) return verdict;
    if (blamed && drowned(statement.outcome, verdict, judged_limits())) {
      verdict.end = verdict::End::output;
      return verdict;
    }
    if (statement.outcome.signal == SIGPIPE && blamed) {
      verdict.feedback = "The submission ended too early";
      return verdict;
    }
    statement.said = files::read_text(said.get(), checker_result::longest);
    statement.told = files::read_text(told.get(), checker_result::longest);
    conclude(verdict, test, statement, files::size(written.get()) > 0 ? written.get() : said.get());
    return verdict;
  }

 private:
  process::Running start_manager(const plan::Test& test, const std::vector<Line>& lines, int said, int told,
      idle_time::Clock& clock) const {
    std::vector<std::string> arguments;
    std::vector<int> ends;
    for (const Line& line : lines) {
      for (const sys::Fd* end : {&line.to_manager.read, &line.to_user.write}) {
        arguments.push_back(pipes::path(*end));
        ends.push_back(end->get());
      }
    }
    process::Program program = manager_->program(arguments);
    program.inherited.insert(program.inherited.end(), ends.begin(), ends.end());
    program.writable.push_back(judge_program::written_name);
    return start_judge(program, rewound(opened_.of(test.input)), said, told, clock, lines.size());
  }

  std::vector<Member> start_members(const std::vector<Line>& lines, idle_time::Clock& clock) const {
    std::vector<Member> members;
    for (size_t index = 0; index < lines.size(); ++index)
      members.push_back(start(clock, index, [&](process::Program& program) {
        program.talks = true;
        connect(program, lines[index]);
        if (lines.size() > 1) program.argv.push_back(std::to_string(index));
      }));
    return members;
  }

  void connect(process::Program& program, const Line& line) const {
    const sys::Fd &from = line.to_user.read, &to = line.to_manager.write;
    if (!plan_.fifo_io) {
      program.input = from.get();
      program.output = to.get();
      return;
    }
    program.streams = true;
    for (const sys::Fd* end : {&from, &to}) {
      program.argv.push_back(pipes::path(*end));
      program.inherited.push_back(end->get());
    }
  }

  // The manager's own words, unless the plan has a checker, which then judges what the manager wrote: into its file, or
  // else to its standard output.
  void conclude(verdict::Verdict& verdict, const plan::Test& test, const checker_result::Statement& statement,
      int said) const {
    if (checker_.is_program()) {
      const process::Outcome& outcome = statement.outcome;
      if (outcome.killed != process::Killed::no || outcome.code != 0 || outcome.signal != 0 || !outcome.failure.empty())
        heard("cms", statement);
      check(verdict, test, said);
      return;
    }
    const checker_result::Opinion opinion = heard(plan_.manager.kind, statement);
    verdict.score = opinion.score;
    verdict.is_part = opinion.is_part;
    verdict.feedback = opinion.feedback;
  }
};

constexpr size_t interactors_place = 1;  // on the clock of a test

// Interactive: the submission and an interactor read what the other one writes.
class Interactive : public Together {
 public:
  explicit Interactive(const Parts& parts) : Together(parts) {
    if (!manager_) sys::fail("manager: an Interactive task needs an interactor");
  }

  verdict::Verdict judge(const plan::Test& test) override {
    manager_->clear_feedback();
    bool first = true;
    return in_passes(opened_.of(test.input), [&](int input, sys::Fd& next) {
      const bool goes_on = std::exchange(first, false) && !plan_.manager.again.empty();
      return goes_on || plan_.manager.again != "alone" ? play(test, input, goes_on, next) : play_second(test, input);
    });
  }

 private:
  // The second run without the interactor: what the submission writes is for the checker.
  verdict::Verdict play_second(const plan::Test& test, int input) {
    const int output = streams_.file("output"), error = streams_.file("error");
    const bool one_way = room_.layers.on("one-way");
    const sys::Fd said = files::write_only(output, one_way), told = files::write_only(error, one_way);
    process::Program program = submission();
    const sys::Fd copied = hand_input(input, program);
    program.output = said.get();
    program.error = told.get();
    return play_alone(program, test, opened_.of(test.input), output, error);
  }

  // `next`: takes the input of another run, where the interactor asks for one, or where `goes_on` says that there is
  // one if this one is right.
  verdict::Verdict play(const plan::Test& test, int input, bool goes_on, sys::Fd& next) {
    pipes::Pipe to_user = streams_.pipe("to user"), from_user = streams_.pipe("from user");
    const sys::Fd told = files::memory("told");
    sys::Fd transcript = files::memory("transcript");
    manager_->lay(input, answer_of(test), transcript.get());
    idle_time::Clock clock(2);
    process::Running interactor = start_interactor(test, from_user.read.get(), to_user.write.get(), told.get(), clock);
    std::vector<Member> members;
    members.push_back(start_submission(to_user.read.get(), from_user.write.get(), clock));
    // The submission's own ends stay open here until its end is known: the interactor cannot learn of it before, so
    // what it has decided by then, it has decided by itself.
    to_user.write.reset(), from_user.read.reset();
    verdict::Verdict verdict = wait_for(members, judged_limits(), CpuTime::summed);
    const bool was_left = verdict.end != verdict::End::ok &&
        (verdict.used.signal == SIGPIPE || ends_by_itself(interactor, clock));
    from_user.close();
    // Whoever ended well may leave words of the interactor unread, which is no reason for it to die before it has
    // judged.
    const bool blamed = room_.layers.on("blame");
    if (verdict.end == verdict::End::ok && blamed) pipes::drain(to_user.read, interactor.report());
    to_user.close();
    checker_result::Statement statement = outcome_of(interactor, verdict);
    statement.full = plan_.manager.full;
    statement.told = files::read_text(told.get(), checker_result::longest);
    const bool again = plan_.checker.passes > 1;
    if (again) next = manager_->take_next_pass();
    manager_->collect_feedback(statement, again);
    if (blamed && drowned(statement.outcome, verdict, judged_limits())) {
      verdict.end = verdict::End::output;
      return verdict;
    }
    if (next.valid() && verdict.end == verdict::End::ok && statement.outcome.code != 42)
      sys::fail(statement.who + " asks for another pass, and rejects this one");
    conclude(verdict, test, statement, was_left, goes_on ? -1 : transcript.get());
    if (goes_on && verdict.end == verdict::End::ok && verdict.score > 0) next = std::move(transcript);
    return verdict;
  }

  process::Running start_interactor(const plan::Test& test, int input, int output, int told,
      idle_time::Clock& clock) const {
    std::vector<std::string> told_of = {
        judge_program::input_name, judge_program::output_name, judge_program::answer_name};
    if (plan_.manager.kind == "icpc")
      told_of = {judge_program::input_name, judge_program::answer_name, judge_program::feedback_name};
    if (plan_.manager.kind == "exit-code") told_of = {judge_program::input_name, judge_program::answer_name};
    if (!plan_.manager.given.empty()) told_of = plan_.manager.given;
    process::Program program = manager_->program(told_of);
    program.argv.insert(program.argv.end(), test.arguments.begin(), test.arguments.end());
    return start_judge(program, input, output, told, clock, interactors_place);
  }

  Member start_submission(int input, int output, idle_time::Clock& clock) const {
    return start(clock, 0, [&](process::Program& program) {
      program.talks = true;
      program.input = input;
      program.output = output;
    });
  }

  // What the submission wrote may be enough for it. While it computes or waits for a processor it has not come to what
  // is missing; on a busy machine that takes as long as it takes.
  static bool ends_by_itself(const process::Running& interactor, idle_time::Clock& clock) {
    constexpr int look_ms = 10;
    constexpr int64_t silence_us = 50 * 1000;
    const int64_t asked = sys::now_us();
    std::optional<int64_t> before;
    clock.ask();
    for (;;) {
      pollfd report = {interactor.report(), POLLIN, 0};
      if (poll(&report, 1, look_ms) == 1) return true;
      const std::optional<int64_t> rested = clock.rested_us(interactors_place, asked);
      if (!before) before = rested;
      if (rested && *rested - *before > silence_us) return false;
    }
  }

  // `transcript`: for the checker; -1: not yet.
  // An interactor that was not content and ended first has decided: what the submission did without a partner does not
  // count. Otherwise a submission that failed has failed, whatever the interactor made of the silence.
  void conclude(verdict::Verdict& verdict, const plan::Test& test, const checker_result::Statement& statement,
      bool was_left, int transcript) const {
    const bool failed = verdict.end != verdict::End::ok;
    if (failed && !was_left && room_.layers.on("blame")) return;
    const checker_result::Opinion opinion = heard(plan_.manager.kind, statement);
    if (failed && opinion.score > 0) return;
    verdict.end = verdict::End::ok;
    verdict.score = opinion.score;
    verdict.is_part = opinion.is_part;
    verdict.feedback = opinion.feedback;
    if (opinion.score > 0 && transcript >= 0 && checker_.is_program()) check(verdict, test, transcript);
  }
};

}  // namespace

std::unique_ptr<Task> make_two_steps(const Parts& parts) { return std::make_unique<TwoSteps>(parts); }
std::unique_ptr<Task> make_communication(const Parts& parts) { return std::make_unique<Communication>(parts); }
std::unique_ptr<Task> make_interactive(const Parts& parts) { return std::make_unique<Interactive>(parts); }

}  // namespace task
