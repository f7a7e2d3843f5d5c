// Task types of which the submission runs alone, or not at all.
#include <algorithm>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "task.hpp"

namespace task {
namespace {

// Batch: the submission reads one input and writes one output, then the checker compares.
class Batch : public Task {
 public:
  Batch(const Parts& parts, const char* mode) : Task(parts), mode_(mode) {}

  verdict::Verdict judge(const plan::Test& test) override {
    checker_.begin();
    return in_passes(opened_.of(test.input), [&](int input, sys::Fd& next) {
      const verdict::Verdict verdict = play(test, input);
      next = checker_.next_pass();
      return verdict;
    });
  }

 private:
  verdict::Verdict play(const plan::Test& test, int input) {
    const int error = streams_.file("error"),
        output = plan_.output_file.empty() ? streams_.file("output") : empty_output();
    const bool one_way = room_.layers.on("one-way");
    const sys::Fd said = plan_.output_file.empty() ? files::write_only(output, one_way) : sys::Fd(),
        told = files::write_only(error, one_way);
    process::Program program = submission();
    const sys::Fd copied = plan_.input_file.empty() ? hand_input(input, program) : lay_out(input);
    if (plan_.output_file.empty()) program.output = said.get();
    program.error = told.get();
    if (!room_.layers.on("streams")) program.output = STDOUT_FILENO, program.error = STDERR_FILENO;
    use_files(program, output);
    const verdict::Verdict verdict = play_alone(program, test, input, output, error, mode_);
    if (!plan_.output_file.empty() && verdict.score < 1) need_room(output);
    return verdict;
  }

  // What had no room for its output may have been right. Less than this lies about where a disk is full.
  static void need_room(int output) {
    constexpr unsigned long long least = 1 << 20;
    struct statvfs disk;
    if (fstatvfs(output, &disk) == 0 && static_cast<unsigned long long>(disk.f_bavail) * disk.f_frsize < least)
      sys::fail("the disk is full where programs write their files");
  }

  static std::string own(const std::string& name) { return std::string(own_folder) + "/" + name; }

  void use_files(process::Program& program, int output) const {
    if (plan_.input_file.empty() && plan_.output_file.empty()) return;
    program.folder = own_folder;
    if (plan_.output_file.empty()) return;
    program.writable.push_back(plan_.output_file);
    program.kept = output;
  }

  // The input as a file of the submission's own.
  sys::Fd lay_out(int input) {
    const int file = emptied(input_, plan_.input_file);
    files::copy(input, file);
    files::reset_times(file);
    return {};
  }

  int empty_output() { return emptied(output_, plan_.output_file); }

  // The same file for all tests: its number, too, would tell them apart.
  static int emptied(sys::Fd& file, const std::string& name) {
    if (!file.valid()) {
      unlink(own(name).c_str());
      file = sys::Fd(open(own(name).c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
    }
    if (!file.valid()) sys::fail_errno("cannot make " + name);
    files::empty(file.get());
    return file.get();
  }

  const char* mode_;
  sys::Fd input_, output_;  // where they have names
};

// Function: a harness calls one function of the submission with arguments from its standard input and writes the
// result, as JSON, to a descriptor of its own; the comparison happens here, where the submission cannot reach.
class Function : public Task {
 public:
  using Task::Task;

  verdict::Verdict judge(const plan::Test& test) override {
    const int result = streams_.file("result"), error = streams_.file("error");
    const sys::Fd returned = files::write_only(result), told = files::write_only(error);
    process::Program program = submission();
    program.inherited.push_back(program.told = returned.get());
    const sys::Fd copied = hand_input(opened_.of(test.input), program);
    program.error = told.get();  // what it prints is nobody's business: standard output leads nowhere
    return play_alone(program, test, opened_.of(test.input), result, error);
  }
};

// OutputOnly: the outputs were handed in, no program runs but the checker.
class OutputOnly : public Task {
 public:
  using Task::Task;

  verdict::Verdict judge(const plan::Test& test) override { return judge(test, nullptr); }

  verdict::Verdict judge(const plan::Test& test, const char* mode) {
    verdict::Verdict verdict;
    if (test.output.empty()) {
      verdict.feedback = "File not submitted";
      return verdict;
    }
    check(verdict, test, opened_.of(test.output), mode);
    return verdict;
  }
};

// BatchAndOutput: some of the outputs were handed in. A test for which a file was handed in is judged by it, another
// one by the program, unless only a file counts. The checker is told of the last, not of what was handed in.
class BatchAndOutput : public Task {
 public:
  explicit BatchAndOutput(const Parts& parts) : Task(parts), files_(parts), program_(parts, by_program) {}

  verdict::Verdict judge(const plan::Test& test) override {
    if (test.by_file) return files_.judge(test, "outputonly");
    return test.output.empty() ? program_.judge(test) : files_.judge(test, by_program);
  }

 private:
  static constexpr const char* by_program = "batch";

  OutputOnly files_;
  Batch program_;
};

}  // namespace

std::unique_ptr<Task> make_batch(const Parts& parts) { return std::make_unique<Batch>(parts, nullptr); }
std::unique_ptr<Task> make_function(const Parts& parts) { return std::make_unique<Function>(parts); }
std::unique_ptr<Task> make_output_only(const Parts& parts) { return std::make_unique<OutputOnly>(parts); }
std::unique_ptr<Task> make_batch_and_output(const Parts& parts) { return std::make_unique<BatchAndOutput>(parts); }

}  // namespace task
