// Task types in which the submission runs alone, or not at all.
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
  Batch(const TaskContext& context, const char* mode) : Task(context), mode_(mode) {}

  verdict::Verdict judge(const plan::Test& test) override {
    checker_.begin_test();
    return judge_in_passes(files_.fd_of(test.input), [&](int input, sys::Fd& next_input) {
      const verdict::Verdict verdict = judge_pass(test, input);
      next_input = checker_.take_next_input();
      return verdict;
    });
  }

 private:
  verdict::Verdict judge_pass(const plan::Test& test, int input) {
    const int error = streams_.file("error"),
              output = plan_.output_file.empty() ? streams_.file("output") : empty_output_file();
    const bool is_one_way = sandbox_.layers.is_on("one-way");
    const sys::Fd output_writer = plan_.output_file.empty() ? files::reopen_write_only(output, is_one_way) : sys::Fd(),
                  error_writer = files::reopen_write_only(error, is_one_way);
    process::Program program = make_submission_program();
    const sys::Fd input_copy = plan_.input_file.empty() ? set_standard_input(input, program) : write_input_file(input);
    if (plan_.output_file.empty()) program.output = output_writer.get();
    program.error = error_writer.get();
    if (!sandbox_.layers.is_on("streams")) program.output = STDOUT_FILENO, program.error = STDERR_FILENO;
    use_named_files(program, output);
    const verdict::Verdict verdict = run_and_check(program, test, input, output, error, mode_);
    if (!plan_.output_file.empty() && verdict.score < 1) fail_if_disk_is_full(output);
    return verdict;
  }

  // Fails if the disk is nearly full, because an output that did not fit may have been right.
  static void fail_if_disk_is_full(int output) {
    constexpr unsigned long long min_free_bytes = 1 << 20;
    struct statvfs disk;
    if (fstatvfs(output, &disk) == 0 && static_cast<unsigned long long>(disk.f_bavail) * disk.f_frsize < min_free_bytes)
      sys::fail("the disk is full where programs write their files");
  }

  static std::string path_of(const std::string& name) { return std::string(submission_folder) + "/" + name; }

  void use_named_files(process::Program& program, int output) const {
    if (plan_.input_file.empty() && plan_.output_file.empty()) return;
    program.folder = submission_folder;
    if (plan_.output_file.empty()) return;
    program.writable_paths.push_back(plan_.output_file);
    program.counted_file = output;
  }

  // Writes the input to a file in the submission's folder.
  sys::Fd write_input_file(int input) {
    const int file = make_empty_file(input_file_, plan_.input_file);
    files::copy_content(input, file);
    files::reset_times(file);
    return {};
  }

  int empty_output_file() { return make_empty_file(output_file_, plan_.output_file); }

  // Returns the same file for all tests, because a new inode number would tell them apart.
  static int make_empty_file(sys::Fd& file, const std::string& name) {
    if (!file.valid()) {
      unlink(path_of(name).c_str());
      file = sys::Fd(open(path_of(name).c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
    }
    if (!file.valid()) sys::fail_errno("cannot make " + name);
    files::truncate(file.get());
    return file.get();
  }

  const char* mode_;
  sys::Fd input_file_, output_file_;  // of tasks with named files
};

// Function: a harness calls one function of the submission with arguments from its standard input, and writes the
// result as JSON to a separate descriptor. The comparison happens in the proctor, out of the submission's reach.
class Function : public Task {
 public:
  using Task::Task;

  verdict::Verdict judge(const plan::Test& test) override {
    const int result = streams_.file("result"), error = streams_.file("error");
    const sys::Fd result_writer = files::reopen_write_only(result), error_writer = files::reopen_write_only(error);
    process::Program program = make_submission_program();
    program.inherited_fds.push_back(program.argument_fd = result_writer.get());
    const sys::Fd input_copy = set_standard_input(files_.fd_of(test.input), program);
    program.error = error_writer.get();  // its standard output is /dev/null
    return run_and_check(program, test, files_.fd_of(test.input), result, error);
  }
};

// OutputOnly: outputs were submitted; no program runs except the checker.
class OutputOnly : public Task {
 public:
  using Task::Task;

  verdict::Verdict judge(const plan::Test& test) override { return judge(test, nullptr); }

  verdict::Verdict judge(const plan::Test& test, const char* mode) {
    verdict::Verdict verdict;
    if (test.submitted_output.empty()) {
      verdict.feedback = "File not submitted";
      return verdict;
    }
    check(verdict, test, files_.fd_of(test.submitted_output), mode);
    return verdict;
  }
};

// BatchAndOutput: some outputs may be submitted as files. A test with a submitted file is judged by that file. Other
// tests are judged by the program, unless only a file counts. The checker's last argument names the mode of the test.
class BatchAndOutput : public Task {
 public:
  explicit BatchAndOutput(const TaskContext& context)
      : Task(context), by_file_(context), by_program_(context, program_mode) {}

  verdict::Verdict judge(const plan::Test& test) override {
    if (test.is_judged_by_file) return by_file_.judge(test, "outputonly");
    return test.submitted_output.empty() ? by_program_.judge(test) : by_file_.judge(test, program_mode);
  }

 private:
  static constexpr const char* program_mode = "batch";

  OutputOnly by_file_;
  Batch by_program_;
};

}  // namespace

std::unique_ptr<Task> make_batch_task(const TaskContext& context) { return std::make_unique<Batch>(context, nullptr); }
std::unique_ptr<Task> make_function_task(const TaskContext& context) { return std::make_unique<Function>(context); }
std::unique_ptr<Task> make_output_only_task(const TaskContext& context) {
  return std::make_unique<OutputOnly>(context);
}
std::unique_ptr<Task> make_batch_and_output_task(const TaskContext& context) {
  return std::make_unique<BatchAndOutput>(context);
}

}  // namespace task
