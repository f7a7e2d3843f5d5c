// Batch: the submission reads one input and writes one output, then the checker compares.
#include <algorithm>
#include <fcntl.h>
#include <sys/stat.h>

#include "files.hpp"
#include "task.hpp"
#include "text.hpp"

namespace task {
namespace {

constexpr size_t longest_last_words = 500;

class Batch : public Task {
 public:
  using Task::Task;

  verdict::Verdict judge(const plan::Test& test) override {
    const int input = opened_.of(test.input);
    const sys::Fd empty = files::memory("empty"), error = files::memory("error");
    const sys::Fd output = plan_.output_file.empty() ? files::memory("output") : fresh_output();
    process::Program program = submission();
    if (!plan_.input_file.empty()) lay_out(input);
    if (lseek(input, 0, SEEK_SET) != 0) sys::fail_errno("cannot rewind the input");
    const sys::Fd copied = needs_copy(program) ? copy_of(input) : sys::Fd();
    if (plan_.input_file.empty()) program.input = copied.valid() ? copied.get() : input;
    if (plan_.output_file.empty()) program.output = output.get();
    program.error = error.get();
    use_files(program);
    verdict::Verdict verdict;
    verdict.used = process::run(room_, program);
    if (!verdict.used.failure.empty()) sys::fail(verdict.used.failure);
    const int64_t written = std::max(files::size(output.get()), files::size(error.get()));
    verdict.end = end_of(verdict.used, plan_.limits, written);
    if (verdict.end == verdict::End::exit || verdict.end == verdict::End::signal) verdict.feedback = last_words(error.get());
    if (verdict.end != verdict::End::ok) return verdict;
    const checker::Checked checked = checker_.check(input, test.answer.empty() ? empty.get() : opened_.of(test.answer), output.get());
    verdict.score = checked.score;
    verdict.feedback = checked.feedback;
    return verdict;
  }

 private:
  static std::string own(const std::string& name) { return std::string(own_folder) + "/" + name; }

  // Where nothing but file modes would keep a program that sees /proc from reopening its input for writing, it gets a copy.
  bool needs_copy(const process::Program& program) const { return program.proc && room_.landlock_abi == 0; }

  static sys::Fd copy_of(int input) {
    sys::Fd copied = files::memory("input");
    files::copy(input, copied.get());
    lseek(copied.get(), 0, SEEK_SET);
    return copied;
  }

  void use_files(process::Program& program) const {
    if (plan_.input_file.empty() && plan_.output_file.empty()) return;
    program.folder = own_folder;
    if (!plan_.output_file.empty()) program.writable.push_back(plan_.output_file);
  }

  void lay_out(int input) const {
    unlink(own(plan_.input_file).c_str());
    const sys::Fd file(open(own(plan_.input_file).c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
    if (!file.valid()) sys::fail_errno("cannot lay out " + plan_.input_file);
    files::copy(input, file.get());
  }

  sys::Fd fresh_output() const {
    unlink(own(plan_.output_file).c_str());
    sys::Fd file(open(own(plan_.output_file).c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
    if (!file.valid()) sys::fail_errno("cannot make " + plan_.output_file);
    return file;
  }

  // The last line that a program wrote before it failed: an uncaught exception names itself there.
  static std::string last_words(int error) {
    std::string tail = files::read_tail(error, longest_last_words);
    while (!tail.empty() && (tail.back() == '\n' || tail.back() == '\r')) tail.pop_back();
    return tail.substr(tail.rfind('\n') + 1);
  }
};

}  // namespace

std::unique_ptr<Task> make_batch(const plan::Plan& plan, const room::Room& room, const Opened& opened, const checker::Checker& checker) {
  return std::make_unique<Batch>(plan, room, opened, checker);
}

}  // namespace task
