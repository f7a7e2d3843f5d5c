// Task types in which the submission runs alone, or not at all.
#include <algorithm>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "task.hpp"

namespace task {
namespace {

// Batch: the submission reads an input and writes an output, then the checker compares.
class BatchTask : public Task {
 public:
  BatchTask(const TaskContext& context, const char* checker_mode) : Task(context), checker_mode_(checker_mode) {}

  verdict::Verdict judge(const plan::Test& test) override {
    checker_.clear_test_feedback();
    return judge_all_passes(files_.find_fd(test.input), [&](int input_fd, sys::Fd& next_input) {
      const verdict::Verdict verdict = judge_single_pass(test, input_fd);
      next_input = checker_.take_next_pass_input();
      return verdict;
    });
  }

 private:
  verdict::Verdict judge_single_pass(const plan::Test& test, int input_fd) {
    const int error_fd = streams_.get_empty_file("error"),
              output_fd = plan_.output_file.empty() ? streams_.get_empty_file("output") : open_empty_output_fd();
    const bool is_one_way = sandbox_.layers.is_enabled("one-way");
    const sys::Fd output_writer =
                      plan_.output_file.empty() ? files::reopen_write_only(output_fd, is_one_way) : sys::Fd(),
                  error_writer = files::reopen_write_only(error_fd, is_one_way);
    process::Program program = make_submission_program();
    const sys::Fd input_copy =
        plan_.input_file.empty() ? set_standard_input(input_fd, program) : write_input_file(input_fd);
    if (plan_.output_file.empty()) program.output = output_writer.get();
    program.error = error_writer.get();
    if (!sandbox_.layers.is_enabled("streams")) program.output = STDOUT_FILENO, program.error = STDERR_FILENO;
    allow_named_files(program, output_fd);
    const verdict::Verdict verdict = run_and_check(program, test, input_fd, output_fd, error_fd, checker_mode_);
    if (!plan_.output_file.empty() && verdict.score < 1) fail_if_disk_is_full(output_fd);
    return verdict;
  }

  // Fails if the disk is nearly full, because an output that did not fit may have been right.
  static void fail_if_disk_is_full(int output_fd) {
    constexpr unsigned long long min_free_bytes = 1 << 20;
    struct statvfs disk;
    if (fstatvfs(output_fd, &disk) == 0 &&
        static_cast<unsigned long long>(disk.f_bavail) * disk.f_frsize < min_free_bytes)
      sys::fail("the disk is full where programs write their files");
  }

  static std::string make_submission_path(const std::string& name) {
    return std::string(submission_folder) + "/" + name;
  }

  // Lets the program open the task's named files in its folder. The output file counts as memory of the program.
  void allow_named_files(process::Program& program, int output_fd) const {
    if (plan_.input_file.empty() && plan_.output_file.empty()) return;
    program.folder = submission_folder;
    if (plan_.output_file.empty()) return;
    program.writable_paths.push_back(plan_.output_file);
    program.counted_file = output_fd;
  }

  // Writes the input to a file in the submission's folder.
  sys::Fd write_input_file(int input_fd) {
    const int file = open_empty_file_fd(input_file_, plan_.input_file);
    files::copy_content(input_fd, file);
    files::reset_file_times(file);
    return {};
  }

  int open_empty_output_fd() { return open_empty_file_fd(output_file_, plan_.output_file); }

  // Empties a file of the submission and returns its descriptor. All tests use the same file, because the submission
  // could distinguish tests with different inode numbers.
  static int open_empty_file_fd(sys::Fd& file, const std::string& name) {
    if (!file.valid()) {
      unlink(make_submission_path(name).c_str());
      file = sys::Fd(open(make_submission_path(name).c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
    }
    if (!file.valid()) sys::fail_errno("cannot make " + name);
    files::empty_file(file.get());
    return file.get();
  }

  const char* checker_mode_;
  sys::Fd input_file_, output_file_;  // files of a task with named files
};

// Function: a harness calls a function of the submission with arguments from its standard input, and writes the
// result as JSON to a separate descriptor. The comparison happens in the proctor, out of the submission's reach.
class FunctionTask : public Task {
 public:
  using Task::Task;

  verdict::Verdict judge(const plan::Test& test) override {
    const int result = streams_.get_empty_file("result"), error_fd = streams_.get_empty_file("error");
    const sys::Fd result_writer = files::reopen_write_only(result), error_writer = files::reopen_write_only(error_fd);
    process::Program program = make_submission_program();
    program.inherited_fds.push_back(program.argument_fd = result_writer.get());
    const sys::Fd input_copy = set_standard_input(files_.find_fd(test.input), program);
    program.error = error_writer.get();  // the program's standard output is /dev/null
    return run_and_check(program, test, files_.find_fd(test.input), result, error_fd);
  }
};

// OutputOnly: outputs were submitted; no program runs except the checker.
class OutputOnlyTask : public Task {
 public:
  using Task::Task;

  verdict::Verdict judge(const plan::Test& test) override { return judge(test, nullptr); }

  verdict::Verdict judge(const plan::Test& test, const char* checker_mode) {
    verdict::Verdict verdict;
    if (test.submitted_output.empty()) {
      verdict.feedback = "File not submitted";
      return verdict;
    }
    check_output(verdict, test, files_.find_fd(test.submitted_output), checker_mode);
    return verdict;
  }
};

// BatchAndOutput: some outputs may be submitted as files. A test with a submitted file is judged by that file. Other
// tests are judged by the program, unless only a file counts. The checker's last argument names the mode of the test.
class BatchAndOutputTask : public Task {
 public:
  explicit BatchAndOutputTask(const TaskContext& context)
      : Task(context), by_file_(context), by_program_(context, program_mode) {}

  verdict::Verdict judge(const plan::Test& test) override {
    if (test.is_judged_by_file) return by_file_.judge(test, "outputonly");
    return test.submitted_output.empty() ? by_program_.judge(test) : by_file_.judge(test, program_mode);
  }

 private:
  static constexpr const char* program_mode = "batch";

  OutputOnlyTask by_file_;
  BatchTask by_program_;
};

}  // namespace

std::unique_ptr<Task> make_batch_task(const TaskContext& context) {
  return std::make_unique<BatchTask>(context, nullptr);
}
std::unique_ptr<Task> make_function_task(const TaskContext& context) { return std::make_unique<FunctionTask>(context); }
std::unique_ptr<Task> make_output_only_task(const TaskContext& context) {
  return std::make_unique<OutputOnlyTask>(context);
}
std::unique_ptr<Task> make_batch_and_output_task(const TaskContext& context) {
  return std::make_unique<BatchAndOutputTask>(context);
}

}  // namespace task
