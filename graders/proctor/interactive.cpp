// Interactive: the submission and an interactor read what the other one writes.
#include <csignal>
#include <poll.h>

#include "child.hpp"
#include "pipes.hpp"
#include "together.hpp"

namespace task {
namespace {

constexpr size_t interactors_place = 1;  // on the clock of a test

class Interactive : public Together {
 public:
  explicit Interactive(const Parts& parts) : Together(parts) {
    if (!manager_) sys::fail("manager: an Interactive task needs an interactor");
  }

  verdict::Verdict judge(const plan::Test& test) override {
    pipes::Pipe to_user = pipes::make(), from_user = pipes::make();
    const sys::Fd told = files::memory("told"), transcript = files::memory("transcript");
    manager_->lay(opened_.of(test.input), answer_of(test), transcript.get());
    idling::Clock clock(2);
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
    opinion::Statement statement;
    statement.who = manager_->who();
    statement.full = plan_.manager.full;
    statement.outcome = interactor.wait();
    verdict.used.waited_us += statement.outcome.waited_us;
    statement.told = files::read_text(told.get(), opinion::longest);
    manager_->collect_feedback(statement);
    if (blamed && drowned(statement.outcome, verdict, judged_limits())) {
      verdict.end = verdict::End::output;
      return verdict;
    }
    conclude(verdict, test, statement, was_left, transcript.get());
    return verdict;
  }

 private:
  process::Running start_interactor(const plan::Test& test, int input, int output, int told,
      idling::Clock& clock) const {
    std::vector<std::string> told_of = {desk::input_name, desk::output_name, desk::answer_name};
    if (plan_.manager.kind == "icpc") told_of = {desk::input_name, desk::answer_name, desk::feedback_name};
    if (plan_.manager.kind == "exit-code") told_of = {desk::input_name, desk::answer_name};
    process::Program program = manager_->program(told_of);
    program.argv.insert(program.argv.end(), test.arguments.begin(), test.arguments.end());
    program.input = input;
    program.output = output;
    program.error = told;
    program.clock = &clock;
    program.member = interactors_place;
    return process::start(room_, program);
  }

  Member start_submission(int input, int output, idling::Clock& clock) const {
    return start(clock, 0, [&](process::Program& program) {
      program.talks = true;
      program.input = input;
      program.output = output;
    });
  }

  // What the submission wrote may be enough for it. While it computes or waits for a processor it has not come to what
  // is missing; on a busy machine that takes as long as it takes.
  static bool ends_by_itself(const process::Running& interactor, idling::Clock& clock) {
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

  // An interactor that was not content and ended first has decided: what the submission did without a partner does not
  // count. Otherwise a submission that failed has failed, whatever the interactor made of the silence.
  void conclude(verdict::Verdict& verdict, const plan::Test& test, const opinion::Statement& statement, bool was_left,
      int transcript) const {
    const bool failed = verdict.end != verdict::End::ok;
    if (failed && !was_left && room_.layers.on("blame")) return;
    const opinion::Opinion opinion = heard(plan_.manager.kind, statement);
    if (failed && opinion.score > 0) return;
    verdict.end = verdict::End::ok;
    verdict.score = opinion.score;
    verdict.feedback = opinion.feedback;
    if (opinion.score > 0 && checker_.is_program()) check(verdict, test, transcript);
  }
};

}  // namespace

std::unique_ptr<Task> make_interactive(const Parts& parts) { return std::make_unique<Interactive>(parts); }

}  // namespace task
