#include "verdict.hpp"

#include <cstdio>

#include "json.hpp"
#include "text.hpp"

namespace verdict {
namespace {

constexpr size_t max_feedback_bytes = 4096;

const char* find_end_reason_name(EndReason end_reason) {
  switch (end_reason) {
    case EndReason::ok: return "ok";
    case EndReason::exit: return "exit";
    case EndReason::signal: return "signal";
    case EndReason::cpu: return "cpu";
    case EndReason::wall: return "wall";
    case EndReason::memory: return "memory";
    case EndReason::output: return "output";
    case EndReason::threads: return "threads";
  }
  return "";
}

std::string format_number(double value) {
  char digits[40];
  std::snprintf(digits, sizeof digits, "%.17g", value);
  return digits;
}

}  // namespace

std::string VerdictLines::quote_as_line(const std::string& raw) const {
  return json::quote(makes_output_printable_ ? text::make_printable(raw, max_feedback_bytes) : raw);
}
std::string VerdictLines::quote_as_lines(const std::string& raw) const {
  return json::quote(makes_output_printable_ ? text::make_printable_lines(raw, raw.size() * 3) : raw);
}

void VerdictLines::write_line(const std::string& json_fields, bool is_last) {
  unwritten_ += line_start_ + json_fields + "}\n";
  if (is_buffered_ && !is_last) return;
  size_t written = 0;
  while (written < unwritten_.size()) {
    const ssize_t length = write(output_fd_.get(), unwritten_.data() + written, unwritten_.size() - written);
    if (length < 0 && errno != EINTR) _exit(3);  // the reader is gone
    if (length > 0) written += static_cast<size_t>(length);
  }
  unwritten_.clear();
}

void VerdictLines::set_nonce(const std::string& nonce) { line_start_ = "{\"v\":2,\"nonce\":" + json::quote(nonce); }
void VerdictLines::write_start_line(const std::string& confinement) {
  write_line(",\"start\":{\"confinement\":" + confinement + "}");
}
void VerdictLines::write_failure(int64_t test, const sys::Failure& failure) {
  write_line(",\"test\":" + std::to_string(test) + ",\"failure\":" + quote_as_line(failure.message) +
      (failure.is_provoked ? ",\"provoked\":true" : "") + (failure.is_killed_from_outside ? ",\"outside\":true" : ""));
}
void VerdictLines::write_skipped(int64_t test) {
  write_line(",\"test\":" + std::to_string(test) + ",\"skipped\":true");
}
void VerdictLines::write_done() { write_line(",\"done\":true", true); }
void VerdictLines::write_fatal_failure(const std::string& reason) {
  write_line(",\"fatal\":" + quote_as_line(reason), true);
}

void VerdictLines::write_verdict(int64_t test, const Verdict& verdict) {
  const process::Ending& ending = verdict.ending;
  write_line(text::format_json_field("test", test) + ",\"end\":\"" + find_end_reason_name(verdict.end_reason) +
      "\",\"score\":" + format_number(verdict.score) + ",\"feedback\":" + quote_as_line(verdict.feedback) +
      text::format_json_field("cpu_us", ending.cpu_us) + text::format_json_field("wall_us", ending.wall_us) +
      text::format_json_field("waited_us", ending.waited_us) + text::format_json_field("memory", ending.memory_bytes) +
      text::format_json_field("code", ending.exit_code) + text::format_json_field("signal", ending.signal) +
      (ending.process_count > 0 ? text::format_json_field("processes", ending.process_count) : "") +
      (verdict.is_fraction ? ",\"part\":true" : "") +
      (verdict.end_reason == EndReason::wall && ending.is_stalled ? ",\"stalled\":true" : "") +
      (verdict.output.empty() ? "" : ",\"output\":" + quote_as_lines(verdict.output)) +
      (verdict.error.empty() ? "" : ",\"error\":" + quote_as_lines(verdict.error)));
}

}  // namespace verdict
