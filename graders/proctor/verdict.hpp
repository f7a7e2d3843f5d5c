// Verdict lines, as docs/protocol.md describes them.
#pragma once

#include <string>

#include "process.hpp"
#include "sys.hpp"

namespace verdict {

// How the program under test ended.
enum class End { ok, exit, signal, cpu, wall, memory, output, threads };

struct Verdict {
  End end = End::ok;
  double score = 0;
  bool is_part = false;  // of what the test is worth, as its program said
  std::string feedback;
  std::string output;  // what a wrong output, or any, began with, where the plan asks for it
  std::string error;   // what the error text began with, where the plan asks for it
  process::Outcome used;
};

// Writes the lines of one job to the descriptor that no other process holds.
class Lines {
 public:
  explicit Lines(sys::Fd out) : out_(std::move(out)) {}

  void set_nonce(const std::string& nonce);
  void set_cleaning(bool cleaning) { cleaning_ = cleaning; }
  int descriptor() const { return out_.get(); }
  void start(const std::string& confinement);
  void judged(int64_t test, const Verdict& verdict);
  void failed(int64_t test, const sys::Failure& failure);
  void skipped(int64_t test);
  void done();
  void fatal(const std::string& reason);

 private:
  void line(const std::string& fields);
  std::string words(const std::string& raw) const;
  std::string echo(const std::string& raw) const;

  sys::Fd out_;
  bool cleaning_ = true;  // texts of programs are made printable
  std::string head_ = "{\"v\":2,\"nonce\":\"\"";
};

}  // namespace verdict
