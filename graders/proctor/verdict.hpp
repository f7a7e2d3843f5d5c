// Verdict lines. See docs/protocol.md.
#pragma once

#include <string>

#include "process.hpp"
#include "sys.hpp"

namespace verdict {

// How the program under test terminated.
enum class EndReason { ok, exit, signal, cpu, wall, memory, output, threads };

struct Verdict {
  EndReason end_reason = EndReason::ok;
  double score = 0;
  bool is_fraction = false;  // the score is a fraction of the test's points
  std::string feedback;
  std::string output;  // first bytes of a wrong output, or of every output, if the plan asks for them
  std::string error;   // first bytes of the error text, if the plan asks for them
  process::Ending ending;
};

// Writes the lines of a job to a descriptor that no other process has.
class VerdictLines {
 public:
  // With `is_buffered`, the lines of a plan are written together, after the last line.
  VerdictLines(sys::Fd output_fd, bool is_buffered) : output_fd_(std::move(output_fd)), is_buffered_(is_buffered) {}

  void set_nonce(const std::string& nonce);
  void set_makes_output_printable(bool makes_output_printable) { makes_output_printable_ = makes_output_printable; }
  int output_fd() const { return output_fd_.get(); }
  void write_start_line(const std::string& confinement);
  void write_verdict(int64_t test, const Verdict& verdict);
  void write_failure(int64_t test, const sys::Failure& failure);
  void write_skipped(int64_t test);
  void write_done();
  void write_fatal_failure(const std::string& reason);

 private:
  void write_line(const std::string& json_fields, bool is_last = false);
  std::string quote_as_line(const std::string& raw) const;
  std::string quote_as_lines(const std::string& raw) const;

  sys::Fd output_fd_;
  bool is_buffered_;
  std::string unwritten_;
  bool makes_output_printable_ = true;  // whether programs' output in the lines is made printable
  std::string line_start_ = "{\"v\":2,\"nonce\":\"\"";
};

}  // namespace verdict
