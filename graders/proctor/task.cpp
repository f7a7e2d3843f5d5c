#include "task.hpp"

#include <csignal>

namespace task {

process::Program Task::submission() const {
  process::Program program;
  program.argv = plan_.submission.argv;
  program.env = plan_.submission.env;
  program.file = opened_.program.valid() ? opened_.program.get() : -1;
  program.proc = plan_.submission.proc;
  program.threads = plan_.submission.threads > 1;
  program.limits = plan_.limits;
  // One byte more than allowed may be written, so that an output over the limit can be told from one that just fits.
  if (plan_.limits.file_size != process::unlimited) program.limits.file_size = plan_.limits.file_size + 1;
  if (!plan_.submission.files.empty()) program.folder = own_folder;
  return program;
}

verdict::End end_of(const process::Outcome& outcome, const process::Limits& limits, int64_t written) {
  using process::Killed;
  const auto over = [](int64_t used, int64_t limit) { return limit != process::unlimited && used > limit; };
  if (outcome.killed == Killed::memory || over(outcome.memory, limits.memory)) return verdict::End::memory;
  if (outcome.killed == Killed::cpu || outcome.signal == SIGXCPU || over(outcome.cpu_us, limits.cpu_us)) return verdict::End::cpu;
  if (outcome.killed == Killed::wall || over(outcome.wall_us, limits.wall_us)) return verdict::End::wall;
  if (outcome.signal == SIGXFSZ || over(written, limits.file_size)) return verdict::End::output;
  if (outcome.signal != 0) return verdict::End::signal;
  return outcome.code != 0 ? verdict::End::exit : verdict::End::ok;
}

}  // namespace task
