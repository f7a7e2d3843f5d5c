// Fuzz targets for the proctor's parsers, each with a property that must hold for every input. They are one program;
// the name by which it is started selects the target. tools/fuzz builds and starts it.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>

// Sandbox specs are read by functions that are private to this file.
#include "sandbox_command.cpp"
#include "compare.hpp"
#include "checker_result.hpp"
#include "verdict.hpp"

namespace {

void check(bool property, const char* description) {
  if (property) return;
  std::fprintf(stderr, "property fails: %s\n", description);
  std::abort();
}

// Returns a piece of the input. Pieces are separated by 0xff bytes, which are not UTF-8.
std::string piece(const std::string& input, size_t number) {
  size_t from = 0;
  for (; number > 0; --number) {
    const size_t end = input.find('\xff', from);
    if (end == std::string::npos) return "";
    from = end + 1;
  }
  return input.substr(from, input.find('\xff', from) - from);
}

sys::Fd memory_of(const std::string& content) {
  sys::Fd fd(memfd_create("fuzz", MFD_CLOEXEC));
  check(write(fd.get(), content.data(), content.size()) == static_cast<ssize_t>(content.size()), "a file in memory takes what is written");
  return fd;
}

std::string content_of(int fd) { return files::read_all(fd, 1 << 24); }

// --- JSON, plans, specs ---

bool is_utf8(const std::string& text) {
  size_t left = 0;
  unsigned char low = 0x80, high = 0xbf;
  for (const unsigned char c : text) {
    if (left > 0) {
      if (c < low || c > high) return false;
      --left, low = 0x80, high = 0xbf;
    } else if (c >= 0x80) {
      if (c < 0xc2 || c > 0xf4) return false;
      left = c < 0xe0 ? 1 : c < 0xf0 ? 2 : 3;
      low = c == 0xe0 ? 0xa0 : c == 0xf0 ? 0x90 : 0x80;
      high = c == 0xed ? 0x9f : c == 0xf4 ? 0x8f : 0xbf;
    }
  }
  return left == 0;
}

void check_round_trip(const json::Value& value) {
  if (value.kind == json::Value::Kind::text && is_utf8(value.text)) check(json::parse(json::quote(value.text)).text == value.text, "a quoted string is parsed to itself");
  for (const json::Value& item : value.list) check_round_trip(item);
  for (const auto& field : value.object) check_round_trip(field.second);
}

void fuzz_json(const std::string& input) { check_round_trip(json::parse(input)); }

bool is_inside(const std::string& name) {
  return !name.empty() && name[0] != '/' && ("/" + name + "/").find("/../") == std::string::npos && name.find('\0') == std::string::npos;
}

void fuzz_plan(const std::string& input) {
  const plan::Plan plan = plan::parse_plan(input);
  for (const std::string& name : plan.submission.files) check(is_inside(name), "a submission's file is in the job's folder");
  for (const plan::Test& test : plan.tests) {
    check(is_inside(test.input), "an input is in the job's folder");
    check(test.answer.empty() || is_inside(test.answer), "an answer is in the job's folder");
    check(test.submitted_output.empty() || is_inside(test.submitted_output), "a submitted file is in the job's folder");
    for (const size_t group : test.groups) check(group < plan.groups.size(), "a test's groups exist");
  }
}

}  // namespace

namespace sandbox_command {
namespace {

void fuzz_spec(const std::string& input) {
  const SandboxSpec spec = read_spec(json::parse(input));
  check(!spec.program.argv.empty(), "a spec has a program");
  for (const auto& file : spec.files) check(is_inside(file.first), "a file's name is inside the sandbox");
}

}  // namespace
}  // namespace sandbox_command

namespace {

// --- results and verdict lines ---

void fuzz_checker_result(const std::string& input) {
  static const char* const kinds[] = {"cms", "testlib", "icpc", "codeforces"};
  static const int codes[] = {0, 1, 2, 3, 4, 7, 8, 42, 43, 255};
  if (input.size() < 2) return;
  checker_result::CheckerOutput output;
  output.program_name = "the checker";
  output.ending.exit_code = codes[static_cast<unsigned char>(input[1]) % 10];
  const std::string rest = input.substr(2);
  output.standard_output = piece(rest, 0), output.standard_error = piece(rest, 1), output.judge_message = piece(rest, 3);
  const std::string points = piece(rest, 2);
  if (!points.empty()) output.score_file = points;
  output.full_score = output.judge_message.size() % 2 ? 1 : 100;
  const checker_result::CheckerResult read = checker_result::read_result(kinds[static_cast<unsigned char>(input[0]) % 4], output);
  check(std::isfinite(read.score) && read.score >= 0 && read.score <= 1, "a score is between 0 and 1");
}

void fuzz_verdict(const std::string& input) {
  sys::Fd out(memfd_create("lines", MFD_CLOEXEC));
  const sys::Fd reader(dup(out.get()));
  verdict::VerdictLines lines(std::move(out), false);
  lines.set_nonce("n0nce");
  verdict::Verdict verdict;
  verdict.feedback = piece(input, 0);
  verdict.output = piece(input, 2);
  lines.write_verdict(7, verdict);
  lines.write_failure(8, {piece(input, 1), input.size() % 2 == 0});
  const std::string written = content_of(reader.get());
  const size_t end = written.find('\n');
  check(end != std::string::npos && written.find('\n', end + 1) == written.size() - 1, "a verdict is one line");
  for (const std::string& line : {written.substr(0, end), written.substr(end + 1, written.size() - end - 2)}) {
    check(is_utf8(line), "a line is UTF-8");
    const json::Value value = json::parse(line);
    check(value.at("nonce").as_text("nonce") == "n0nce", "a line has the nonce");
    for (const char c : line) check(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f, "a line has no control character");
  }
}

void fuzz_printable(const std::string& input) {
  for (const size_t max_bytes : {size_t{0}, size_t{7}, size_t{200}}) {
    const std::string line = text::make_printable(input, max_bytes);
    check(line.size() <= max_bytes, "at most max_bytes");
    check(is_utf8(line), "printable text is UTF-8");
    const std::string lines = text::make_printable_lines(input, max_bytes);
    check(lines.size() <= max_bytes && is_utf8(lines), "printable lines are UTF-8, and at most max_bytes");
    for (const char c : lines) check(static_cast<unsigned char>(c) >= 0x20 || c == '\n' || c == '\t', "line breaks and tabs are the only controls");
    for (const char c : line) check(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f, "printable text has no control character");
  }
}

// --- comparisons, against implementations that read everything into memory ---

bool is_white(char c) { return std::strchr(" \t\v\f\r", c) && c; }

std::vector<std::string> plain_lines(const std::string& content) {
  std::vector<std::string> lines(1);
  for (const char c : content) {
    if (c == '\n') lines.emplace_back();
    else lines.back() += c;
  }
  for (std::string& line : lines) {
    std::string words;
    bool white = false;
    for (const char c : line) {
      if (!is_white(c)) {
        if (white && !words.empty()) words += ' ';
        words += c;
      }
      white = is_white(c);
    }
    line = words;
  }
  while (!lines.empty() && lines.back().empty()) lines.pop_back();
  return lines;
}

std::string plain_stripped(const std::string& content) {
  const std::string ends = "\t\n\v\f\r \x1c\x1d\x1e\x1f";
  const size_t from = content.find_first_not_of(ends);
  return from == std::string::npos ? "" : content.substr(from, content.find_last_not_of(ends) - from + 1);
}

void fuzz_comparison(const std::string& input) {
  const std::string a = piece(input, 0), b = piece(input, 1);
  const sys::Fd ours = memory_of(a), theirs = memory_of(b);
  check(compare::matches_exactly(ours.get(), theirs.get()) == (a == b), "exact is exact");
  check(compare::matches_stripped_file(ours.get(), theirs.get()) == (plain_stripped(a) == plain_stripped(b)), "stripped strips like Python");
  check(compare::matches_white_diff(ours.get(), theirs.get()) == (plain_lines(a) == plain_lines(b)), "the white diff is that of CMS");
  compare::TokenRules rules;
  rules.case_sensitive = input.size() % 2, rules.space_sensitive = input.size() % 3 == 0;
  check(compare::matches_tokens(ours.get(), ours.get(), rules), "tokens are equal to themselves");
  const bool same = compare::matches_tokens(ours.get(), theirs.get(), rules);
  check(same == compare::matches_tokens(theirs.get(), ours.get(), rules), "tokens without tolerance are symmetric");
  rules.absolute_tolerance = 1e-6, rules.relative_tolerance = 1e-9;
  check(!same || rules.space_sensitive || !rules.case_sensitive || compare::matches_tokens(ours.get(), theirs.get(), rules), "a tolerance accepts more");
  const sys::Fd longer = memory_of(a + "\n \n"), visible = memory_of(a + "\nx");
  check(compare::matches_float_lines(longer.get(), theirs.get()) == compare::matches_float_lines(ours.get(), theirs.get()), "empty lines at an output's end are ignored");
  check(compare::matches_float_lines(visible.get(), visible.get()), "lines that end with a visible one equal themselves");
  const bool plain = a.find_first_of("\r\v\f\x1c\x1d\x1e\xc2\xe2") == std::string::npos;
  check(!plain || plain_stripped(a) != plain_stripped(b) || compare::matches_by_apps_rules(ours.get(), theirs.get()), "APPS first compares the stripped files");
  const bool prime = compare::matches_by_prime_code_rules(ours.get(), theirs.get());
  check(!prime || compare::matches_by_apps_rules(ours.get(), theirs.get()), "prime_code accepts only what APPS accepts");
  check(!compare::matches_stripped_file(ours.get(), theirs.get()) || compare::matches_stripped_lines(ours.get(), theirs.get()), "stripped lines accept more");
  const bool values = compare::matches_json(ours.get(), theirs.get());
  check(a != b || values, "equal texts are equal values");
}

struct Target {
  const char* name;
  void (*run)(const std::string& input);
};
constexpr Target targets[] = {{"json", fuzz_json},           {"plan", fuzz_plan},       {"spec", sandbox_command::fuzz_spec},
                              {"checker_result", fuzz_checker_result}, {"verdict", fuzz_verdict}, {"printable", fuzz_printable},
                              {"comparison", fuzz_comparison}};
const Target* chosen = nullptr;

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char*** argv) {
  const char* slash = std::strrchr((*argv)[0], '/');
  const std::string name = slash ? slash + 1 : (*argv)[0];
  for (const Target& target : targets)
    if (name == target.name) chosen = &target;
  if (chosen) return 0;
  std::fprintf(stderr, "start this program by the name of a target, not as %s\n", name.c_str());
  std::exit(2);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    chosen->run(std::string(reinterpret_cast<const char*>(data), size));
  } catch (const sys::Failure&) {
    // The proctor rejects the input.
  }
  return 0;
}
