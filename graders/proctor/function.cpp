// Function: a harness calls one function of the submission with arguments from its standard input and writes the
// result, as JSON, to a descriptor of its own; the comparison happens here, where the submission cannot reach.
#include <algorithm>

#include "task.hpp"

namespace task {
namespace {

class Function : public Task {
 public:
  using Task::Task;

  verdict::Verdict judge(const plan::Test& test) override {
    const sys::Fd result = files::memory("result"), error = files::memory("error");
    const sys::Fd returned = files::write_only(result), told = files::write_only(error);
    process::Program program = submission();
    program.inherited.push_back(program.told = returned.get());
    const sys::Fd copied = hand_input(opened_.of(test.input), program);
    program.error = told.get();  // what it prints is nobody's business: standard output leads nowhere
    verdict::Verdict verdict;
    verdict.used = run(program);
    verdict.end = end_of(verdict.used, judged_limits(), std::max(files::size(result.get()), files::size(error.get())));
    if (verdict.end == verdict::End::ok)
      check(verdict, test, result.get());
    else
      verdict.feedback = last_words(error.get());
    show(verdict, result.get(), error.get());
    return verdict;
  }
};

}  // namespace

std::unique_ptr<Task> make_function(const Parts& parts) { return std::make_unique<Function>(parts); }

}  // namespace task
