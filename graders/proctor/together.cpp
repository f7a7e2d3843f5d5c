#include "together.hpp"

#include <algorithm>

namespace task {
namespace {

bool is_limit(verdict::End end) {
  return end != verdict::End::ok && end != verdict::End::exit && end != verdict::End::signal;
}

void take(verdict::Verdict& whole, const process::Outcome& part, verdict::End end, int error) {
  whole.used.cpu_us += part.cpu_us;
  whole.used.memory += part.memory;
  whole.used.written += part.written;
  whole.used.wall_us = std::max(whole.used.wall_us, part.wall_us);
  whole.used.waited_us += part.waited_us;
  whole.used.stalled = whole.used.stalled || part.stalled;
  const bool graver = whole.end == verdict::End::ok ? end != verdict::End::ok : is_limit(end) && !is_limit(whole.end);
  if (!graver) return;
  whole.end = end;
  whole.used.code = part.code;
  whole.used.signal = part.signal;
  whole.feedback = last_words(error);
}

}  // namespace

Member Together::start(idling::Clock& clock, size_t member,
                       const std::function<void(process::Program&)>& arrange) const {
  sys::Fd error = files::memory("error");
  const sys::Fd told = files::write_only(error);
  process::Program program = submission();
  program.clock = &clock;
  program.member = member;
  program.error = told.get();
  arrange(program);
  return {process::start(room_, program), std::move(error)};
}

bool drowned(const process::Outcome& judge, const verdict::Verdict& verdict, const process::Limits& limits) {
  return judge.killed != process::Killed::no && limits.file_size != process::unlimited &&
      verdict.used.written > limits.file_size;
}

verdict::Verdict wait_for(std::vector<Member>& members, const process::Limits& limits, CpuTime cpu_time) {
  verdict::Verdict whole;
  std::string failure;
  for (Member& member : members) {
    const process::Outcome part = member.running.wait();
    if (!part.failure.empty()) failure = part.failure;
    take(whole, part, end_of(part, limits, files::size(member.error.get())), member.error.get());
  }
  if (!failure.empty()) sys::fail(failure);
  if (cpu_time == CpuTime::summed && !is_limit(whole.end) && limits.cpu_us != process::unlimited &&
      whole.used.cpu_us >= limits.cpu_us) whole.end = verdict::End::cpu;
  return whole;
}

}  // namespace task
