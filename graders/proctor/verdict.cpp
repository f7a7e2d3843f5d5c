#include "verdict.hpp"

#include <cstdio>

#include "json.hpp"
#include "text.hpp"

namespace verdict {
namespace {

constexpr size_t longest_feedback = 4096;

const char* name(End end) {
  switch (end) {
    case End::ok: return "ok";
    case End::exit: return "exit";
    case End::signal: return "signal";
    case End::cpu: return "cpu";
    case End::wall: return "wall";
    case End::memory: return "memory";
    case End::output: return "output";
    case End::threads: return "threads";
  }
  return "";
}

std::string number(double value) {
  char digits[40];
  std::snprintf(digits, sizeof digits, "%.17g", value);
  return digits;
}

}  // namespace

std::string Lines::words(const std::string& raw) const {
  return json::quote(cleaning_ ? text::printable(raw, longest_feedback) : raw);
}
std::string Lines::echo(const std::string& raw) const {
  return json::quote(cleaning_ ? text::printable_lines(raw, raw.size() * 3) : raw);
}

void Lines::line(const std::string& fields) {
  const std::string whole = head_ + fields + "}\n";
  size_t done = 0;
  while (done < whole.size()) {
    const ssize_t length = write(out_.get(), whole.data() + done, whole.size() - done);
    if (length < 0 && errno != EINTR) _exit(3);  // nobody listens any more
    if (length > 0) done += static_cast<size_t>(length);
  }
}

void Lines::set_nonce(const std::string& nonce) { head_ = "{\"v\":2,\"nonce\":" + json::quote(nonce); }
void Lines::start(const std::string& confinement) { line(",\"start\":{\"confinement\":" + confinement + "}"); }
void Lines::failed(int64_t test, const sys::Failure& failure) {
  line(",\"test\":" + std::to_string(test) + ",\"failure\":" + words(failure.text) +
      (failure.provoked ? ",\"provoked\":true" : "") + (failure.outside ? ",\"outside\":true" : ""));
}
void Lines::skipped(int64_t test) { line(",\"test\":" + std::to_string(test) + ",\"skipped\":true"); }
void Lines::done() { line(",\"done\":true"); }
void Lines::fatal(const std::string& reason) { line(",\"fatal\":" + words(reason)); }

void Lines::judged(int64_t test, const Verdict& verdict) {
  const process::Outcome& used = verdict.used;
  line(text::field("test", test) + ",\"end\":\"" + name(verdict.end) + "\",\"score\":" + number(verdict.score) +
       ",\"feedback\":" + words(verdict.feedback) + text::field("cpu_us", used.cpu_us) +
       text::field("wall_us", used.wall_us) + text::field("waited_us", used.waited_us) +
       text::field("memory", used.memory) + text::field("code", used.code) + text::field("signal", used.signal) +
       (used.processes > 0 ? text::field("processes", used.processes) : "") +
       (verdict.is_part ? ",\"part\":true" : "") +
       (verdict.end == End::wall && used.stalled ? ",\"stalled\":true" : "") +
       (verdict.output.empty() ? "" : ",\"output\":" + echo(verdict.output)) +
       (verdict.error.empty() ? "" : ",\"error\":" + echo(verdict.error)));
}

}  // namespace verdict
