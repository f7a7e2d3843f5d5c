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
  explicit OutputOnly(const Parts& parts, const char* mode = nullptr) : Task(parts), mode_(mode) {}

  verdict::Verdict judge(const plan::Test& test) override {
    if (test.output.empty()) return missing();
    verdict::Verdict verdict;
    check(verdict, test, opened_.of(test.output), mode_);
    return verdict;
  }

 private:
  const char* mode_;
};

// A test with a file handed in is judged by it, another one by the program. The checker is told which.
class BatchAndOutput : public Task {
 public:
  explicit BatchAndOutput(const Parts& parts) : Task(parts), files_(parts, "outputonly"), program_(make_batch(parts, "batch")) {}

  verdict::Verdict judge(const plan::Test& test) override { return test.by_file ? files_.judge(test) : program_->judge(test); }

 private:
  OutputOnly files_;
  std::unique_ptr<Task> program_;
};

}  // namespace

std::unique_ptr<Task> make_output_only(const Parts& parts) { return std::make_unique<OutputOnly>(parts); }
std::unique_ptr<Task> make_batch_and_output(const Parts& parts) { return std::make_unique<BatchAndOutput>(parts); }

}  // namespace task
