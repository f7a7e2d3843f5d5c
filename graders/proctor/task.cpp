#include "task.hpp"

#include <algorithm>
#include <csignal>
#include <cstring>

namespace task {
namespace {

// As on the contest system. Watches of epoll and pages of pipes are counted per user and have limits that the whole
// user shares: with so few descriptors no process comes near them.
constexpr int64_t most_open_files = 64;

}  // namespace

process::Program Task::submission() const {
  process::Program program;
  program.argv = plan_.submission.argv;
  program.env = plan_.submission.env;
  program.file = opened_.program.valid() ? opened_.program.get() : -1;
  program.proc = plan_.submission.proc;
  program.streams = plan_.submission.streams;
  program.threads = plan_.submission.threads > 1;
  program.quiet = plan_.alone;
  program.processes = plan_.submission.processes;
  program.limits = plan_.limits;
  program.limits.open_files = most_open_files;
  if (program.threads) program.limits.threads = plan_.submission.threads;
  // The second lock: each start is asked for.
  if (program.processes > 1)
    program.limits.processes = program.processes + (program.threads ? 2 * plan_.submission.threads + 8 : 0);
  // One byte more than allowed may be written, so that an output over the limit can be told from one that just fits.
  if (plan_.limits.file_size != process::unlimited) program.limits.file_size = plan_.limits.file_size + 1;
  if (!plan_.submission.files.empty()) program.folder = own_folder;
  return program;
}

process::Outcome Task::run(const process::Program& program) const {
  const process::Outcome outcome = waiting_ ? waiting_->run(room_, program) : process::run(room_, program);
  if (!outcome.failure.empty()) sys::fail(outcome.failure, outcome.outside);
  return outcome;
}

const process::Limits& Task::judged_limits() const {
  static const process::Limits none;
  return room_.layers.on("accounting") ? plan_.limits : none;
}

checker_result::Opinion Task::heard(const std::string& kind, const checker_result::Statement& statement) const {
  try {
    return checker_result::read(kind, statement);
  } catch (sys::Failure& failure) {
    failure.provoked = room_.layers.on("blame") && !failure.own && checker_result::may_be_provoked(statement);
    throw;
  }
}

verdict::Verdict Task::in_passes(int input, const std::function<verdict::Verdict(int, sys::Fd&)>& play) const {
  sys::Fd given;
  process::Outcome before;
  for (int pass = 1; pass <= plan_.checker.passes; ++pass) {
    sys::Fd next;
    verdict::Verdict verdict = play(pass == 1 ? input : given.get(), next);
    process::Outcome& used = verdict.used;
    used.cpu_us = std::max(used.cpu_us, before.cpu_us);
    used.wall_us = std::max(used.wall_us, before.wall_us);
    used.memory = std::max(used.memory, before.memory);
    used.waited_us += before.waited_us;
    if (verdict.end != verdict::End::ok || !next.valid()) return verdict;
    given = std::move(next);
    before = used;
  }
  sys::fail("the checker asked for more than " + std::to_string(plan_.checker.passes) + " passes");
}

int Task::rewound(int input) {
  if (lseek(input, 0, SEEK_SET) != 0) sys::fail_errno("cannot rewind the input");
  return input;
}

// The file itself would tell its name, its number and its times, and by its name how long the files next to it are. And
// if only its mode forbids that, a program could open it once more, for writing.
sys::Fd Task::hand_input(int input, process::Program& program) const {
  sys::Fd copied = room_.layers.on("copies") ? streams_.copy_of(input) : sys::Fd();
  program.input = copied.valid() ? copied.get() : rewound(input);
  return copied;
}

int Task::answer_of(const plan::Test& test) const {
  return test.answer.empty() ? opened_.empty.get() : opened_.of(test.answer);
}

verdict::Verdict Task::play_alone(const process::Program& program, const plan::Test& test, int input, int output,
    int error, const char* mode) const {
  verdict::Verdict verdict;
  verdict.used = run(program);
  verdict.end = end_of(verdict.used, judged_limits(), std::max(files::size(output), files::size(error)));
  if (verdict.end == verdict::End::signal && verdict.used.outside) fail_of_outside();
  if (verdict.end != verdict::End::ok)
    verdict.feedback = last_words(error);
  else if (!plan_.output_file.empty() && files::is_untouched(output) && files::size(output) == 0)
    verdict.feedback = "The program wrote no file " + plan_.output_file;
  else
    check(verdict, test, input, output, mode);
  show(verdict, output, error);
  return verdict;
}

void Task::check(verdict::Verdict& verdict, const plan::Test& test, int input, int output, const char* mode) const {
  files::give_back(output);
  std::vector<std::string> arguments = test.arguments;
  if (mode) arguments.push_back(mode);
  const checker_result::Opinion opinion = checker_.check({input, answer_of(test), output}, arguments);
  verdict.score = opinion.score;
  verdict.is_part = opinion.is_part;
  verdict.feedback = opinion.feedback;
  if (plan_.echo > 0 && opinion.score < 1) verdict.output = files::read_text(output, plan_.echo);
}

void Task::show(verdict::Verdict& verdict, int output, int error) const {
  if (!plan_.show) return;
  verdict.output = files::read_text(output, plan_.echo);
  verdict.error = files::read_text(error, plan_.echo);
}

namespace {

// Where the words about what happened end, and those of Go, Haskell, Node and C++'s library about places and objects
// begin. Node writes what an error holds in braces, behind its stack.
size_t end_of_what_happened(const std::string& text) {
  size_t end = text.size();
  for (const char* mark : {"\n\ngoroutine ", "\nCallStack (from HasCallStack):", "\nRequire stack:\n",
           "\n\nObjects involved in the operation:"})
    end = std::min(end, text.find(mark));
  for (size_t at = text.find("\n    at "); at < end; at = text.find("\n    at ", at + 1)) {
    const size_t stop = text.find('\n', at + 1);
    if (stop != std::string::npos && text[stop - 1] == '{') return at;
  }
  return end;
}

// What Java, C#, Node, Rust and Pascal write behind the line that says what happened: where, and how to learn more.
bool is_about_the_place(const std::string& line) {
  const size_t start = line.find_first_not_of(" \t\r");
  if (start == std::string::npos) return true;
  const auto begins = [&](const char* word) { return line.compare(start, std::strlen(word), word) == 0; };
  if (start > 0 && (begins("at ") || begins("... ") || begins("--- End of ") || begins("$0"))) return true;
  return begins("Node.js v") || begins("(Use `node --trace-") || begins("note: run with `RUST_BACKTRACE");
}

}  // namespace

std::string last_words(int error) {
  constexpr size_t longest = 500, looked_at = 16 << 10;
  std::string tail = files::read_tail(error, looked_at);
  tail.resize(end_of_what_happened(tail));
  std::string last;
  for (size_t end = tail.size(); end > 0;) {
    const size_t begin = tail.rfind('\n', end - 1) + 1;  // 0 where there is none
    const std::string line = tail.substr(begin, end - begin);
    if (last.empty()) last = line;
    if (!is_about_the_place(line)) {
      last = line;
      break;
    }
    end = begin > 0 ? begin - 1 : 0;
  }
  while (!last.empty() && last.back() == '\r') last.pop_back();
  return last.size() > longest ? last.substr(last.size() - longest) : last;
}

void fail_of_outside() { sys::fail("the program was killed from outside, by no limit", true); }

verdict::End end_of(const process::Outcome& outcome, const process::Limits& limits, int64_t written) {
  using process::Killed;
  const auto over = [](int64_t used, int64_t limit) { return limit != process::unlimited && used > limit; };
  if (outcome.killed == Killed::memory || over(outcome.memory, limits.memory)) return verdict::End::memory;
  if (outcome.killed == Killed::cpu || over(outcome.cpu_us, process::cpu_limit(limits, outcome.crowded)))
    return verdict::End::cpu;
  if (outcome.killed == Killed::wall || over(outcome.idle_us, limits.wall_us)) return verdict::End::wall;
  if (outcome.killed == Killed::threads || outcome.killed == Killed::processes) return verdict::End::threads;
  // A write far behind a file's end leaves the file as short as a signal that the program sends itself.
  if (outcome.killed == Killed::disk || outcome.signal == SIGXFSZ || over(written, limits.file_size))
    return verdict::End::output;
  if (outcome.signal != 0) return verdict::End::signal;
  return outcome.code != 0 ? verdict::End::exit : verdict::End::ok;
}

}  // namespace task
