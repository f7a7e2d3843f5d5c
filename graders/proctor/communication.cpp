// Communication: a manager talks to one or more processes of the submission, and says what they are worth.
#include <csignal>

#include "pipes.hpp"
#include "together.hpp"

namespace task {
namespace {


// The two ways between the manager and one process.
struct Line {
  // In this order everybody lets go of them: who reads of a partner's end can write to nobody by then.
  pipes::Pipe to_user = pipes::make(), to_manager = pipes::make();
};

class Communication : public Together {
 public:
  explicit Communication(const Parts& parts) : Together(parts) {
    if (!manager_) sys::fail("manager: a Communication task needs one");
  }

  verdict::Verdict judge(const plan::Test& test) override {
    std::vector<Line> lines(static_cast<size_t>(plan_.processes));
    const sys::Fd said = files::memory("said"), told = files::memory("told");
    manager_->lay(opened_.of(test.input), answer_of(test), -1);
    const sys::Fd written = manager_->fresh_output();
    idling::Clock clock(lines.size() + 1);
    process::Running manager = start_manager(test, lines, said.get(), told.get(), clock);
    std::vector<Member> members = start_members(lines, clock);
    for (Line& line : lines) line.to_user.close(), line.to_manager.close();
    verdict::Verdict verdict = wait_for(members, judged_limits(), CpuTime::summed);
    opinion::Statement statement;
    statement.who = manager_->who();
    statement.outcome = manager.wait();
    verdict.used.waited_us += statement.outcome.waited_us;
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
    statement.said = files::read_text(said.get(), opinion::longest);
    statement.told = files::read_text(told.get(), opinion::longest);
    conclude(verdict, test, statement, files::size(written.get()) > 0 ? written.get() : said.get());
    return verdict;
  }

 private:
  process::Running start_manager(const plan::Test& test, const std::vector<Line>& lines, int said, int told,
      idling::Clock& clock) const {
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
    program.writable.push_back(desk::written_name);
    program.input = rewound(opened_.of(test.input));
    program.output = said;
    program.error = told;
    program.clock = &clock;
    program.member = lines.size();
    return process::start(room_, program);
  }

  std::vector<Member> start_members(const std::vector<Line>& lines, idling::Clock& clock) const {
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
    program.proc = true;
    for (const sys::Fd* end : {&from, &to}) {
      program.argv.push_back(pipes::path(*end));
      program.inherited.push_back(end->get());
    }
  }

  // The manager's own words, unless the plan has a checker, which then judges what the manager wrote: into its file, or
  // else to its standard output.
  void conclude(verdict::Verdict& verdict, const plan::Test& test, const opinion::Statement& statement,
      int said) const {
    if (checker_.is_program()) {
      if (statement.outcome.code != 0 || statement.outcome.signal != 0 || !statement.outcome.failure.empty())
        heard("cms", statement);
      check(verdict, test, said);
      return;
    }
    const opinion::Opinion opinion = heard(plan_.manager.kind, statement);
    verdict.score = opinion.score;
    verdict.feedback = opinion.feedback;
  }
};

}  // namespace

std::unique_ptr<Task> make_communication(const Parts& parts) { return std::make_unique<Communication>(parts); }

}  // namespace task
