// OutputOnly: the outputs were handed in, no program runs but the checker. And BatchAndOutput, where some of them were.
#include "task.hpp"

namespace task {
namespace {

verdict::Verdict missing() {
  verdict::Verdict verdict;
  verdict.feedback = "File not submitted";
  return verdict;
}

class OutputOnly : public Task {
 public:
  using Task::Task;

  verdict::Verdict judge(const plan::Test& test) override { return judge(test, nullptr); }

  verdict::Verdict judge(const plan::Test& test, const char* mode) {
    if (test.output.empty()) return missing();
    verdict::Verdict verdict;
    check(verdict, test, opened_.of(test.output), mode);
    return verdict;
  }
};

// A test for which a file was handed in is judged by it, another one by the program, unless only a file counts. The
// checker is told of the last, not of what was handed in.
class BatchAndOutput : public Task {
 public:
  explicit BatchAndOutput(const Parts& parts) : Task(parts), files_(parts), program_(make_batch(parts, by_program)) {}

  verdict::Verdict judge(const plan::Test& test) override {
    if (test.by_file) return files_.judge(test, "outputonly");
    return test.output.empty() ? program_->judge(test) : files_.judge(test, by_program);
  }

 private:
  static constexpr const char* by_program = "batch";

  OutputOnly files_;
  std::unique_ptr<Task> program_;
};

}  // namespace

std::unique_ptr<Task> make_output_only(const Parts& parts) { return std::make_unique<OutputOnly>(parts); }
std::unique_ptr<Task> make_batch_and_output(const Parts& parts) { return std::make_unique<BatchAndOutput>(parts); }

}  // namespace task
