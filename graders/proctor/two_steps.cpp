// TwoSteps: the submission runs twice at the same time, the first run hands what it found out to the second.
#include "pipes.hpp"
#include "together.hpp"

namespace task {
namespace {

class TwoSteps : public Together {
 public:
  using Together::Together;

  verdict::Verdict judge(const plan::Test& test) override {
    pipes::Pipe between = pipes::make();
    const sys::Fd output = files::memory("output"), said = files::write_only(output);
    idling::Clock clock(2);
    std::vector<Member> members;
    members.push_back(start_step(clock, 0, between.write, &test.input, -1));
    members.push_back(start_step(clock, 1, between.read, nullptr, said.get()));
    between.close();
    verdict::Verdict verdict = wait_for(members, judged_limits(), CpuTime::each);
    if (verdict.end == verdict::End::ok && files::size(output.get()) > limit(judged_limits().file_size))
      verdict.end = verdict::End::output;
    if (verdict.end == verdict::End::ok) check(verdict, test, output.get());
    return verdict;
  }

 private:
  static int64_t limit(int64_t value) { return value == process::unlimited ? INT64_MAX : value; }

  Member start_step(idling::Clock& clock, size_t step, const sys::Fd& end, const std::string* input, int output) const {
    sys::Fd copied;
    return start(clock, step, [&](process::Program& program) {
      program.argv.push_back(std::to_string(step));
      program.argv.push_back(pipes::path(end));
      program.inherited.push_back(end.get());
      program.proc = true;
      if (input) copied = hand_input(opened_.of(*input), program);
      program.output = output;
    });
  }
};

}  // namespace

std::unique_ptr<Task> make_two_steps(const Parts& parts) { return std::make_unique<TwoSteps>(parts); }

}  // namespace task
