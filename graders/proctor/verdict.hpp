// Verdict lines. See docs/protocol.md.
#pragma once

#include <string>

#include "process.hpp"
#include "sys.hpp"

namespace verdict {

// How the program under test ended.
enum class EndReason { ok, exit, signal, cpu, wall, memory, output, threads };

struct Verdict {
  EndReason end_reason = EndReason::ok;
  double score = 0;
  bool is_fraction = false;  // the score is a fraction of the test's points
  std::string feedback;
  std::string output;  // first bytes of a wrong output, or of any output, if the plan asks for it
  std::string error;   // first bytes of the error text, if the plan asks for it
  process::Ending ending;
};

// Writes the lines of one job to a descriptor that no other process has.
class VerdictLines {
 public:
  // `holds_lines`: all lines of a plan are written together with its last one.
  VerdictLines(sys::Fd out, bool holds_lines) : out_(std::move(out)), holds_lines_(holds_lines) {}

  void set_nonce(const std::string& nonce);
  void set_cleans_text(bool cleans_text) { cleans_text_ = cleans_text; }
  int descriptor() const { return out_.get(); }
  void write_start(const std::string& confinement);
  void write_verdict(int64_t test, const Verdict& verdict);
  void write_failure(int64_t test, const sys::Failure& failure);
  void write_skipped(int64_t test);
  void write_done();
  void write_fatal(const std::string& reason);

 private:
  void write_line(const std::string& fields, bool is_last = false);
  std::string quoted_line(const std::string& raw) const;
  std::string quoted_text(const std::string& raw) const;

  sys::Fd out_;
  bool holds_lines_;
  std::string unwritten_;
  bool cleans_text_ = true;  // text of programs is made printable
  std::string head_ = "{\"v\":2,\"nonce\":\"\"";
};

}  // namespace verdict
