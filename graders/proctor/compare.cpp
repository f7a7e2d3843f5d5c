#include "compare.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <strings.h>
#include <utility>
#include <vector>

#include "bytes.hpp"
#include "files.hpp"
#include "json.hpp"

namespace compare {
namespace {

bool is_blank(int c) { return c == ' ' || c == '\t' || c == '\v' || c == '\f' || c == '\r'; }

// The symbols of a file that the white diff looks at: two files are equal when their symbols are. Without blank lines,
// a line may also end with a carriage return.
class Symbols {
 public:
  explicit Symbols(int fd, bool blank_lines = true) : bytes_(fd), blank_lines_(blank_lines) {}

  int next() {
    if (newlines_ > 0) return --newlines_, '\n';
    if (held_ != none) return take_held();
    bool blank = false;
    for (;;) {
      const int c = bytes_.next();
      if (c == Bytes::end) return c;
      if (c == '\n' || (c == '\r' && !blank_lines_)) {
        ++lines_, blank = false, line_started_ = false;
      } else if (is_blank(c)) {
        blank = true;
      } else {
        return meet(c, blank && line_started_);
      }
    }
  }

 private:
  static constexpr int none = -2;

  // A visible byte: what was held back before it counts now.
  int meet(int c, bool separated) {
    line_started_ = true;
    const bool first = !std::exchange(begun_, true);
    if (!blank_lines_) lines_ = first ? 0 : std::min<int64_t>(lines_, 1);
    if (lines_ == 0 && !separated) return c;
    held_ = c;
    if (lines_ == 0) return ' ';
    newlines_ = lines_ - 1;
    lines_ = 0;
    return '\n';
  }

  int take_held() {
    const int c = held_;
    held_ = none;
    return c;
  }

  Bytes bytes_;
  bool blank_lines_, begun_ = false;
  int64_t lines_ = 0, newlines_ = 0;  // line breaks seen since the last visible byte; those still to be given
  int held_ = none;
  bool line_started_ = false;
};

bool same_symbols(Symbols ours, Symbols theirs) {
  for (;;) {
    const int a = ours.next(), b = theirs.next();
    if (a != b) return false;
    if (a == Bytes::end) return true;
  }
}

struct Span {
  int64_t from = 0, to = 0;
};

Span inner(int fd) {
  Span span;
  bool inside = false;
  Bytes bytes(fd);
  int64_t at = 0;
  for (int c; (c = bytes.next()) != Bytes::end; ++at) {
    if (is_strippable(c)) continue;
    if (!inside) span.from = at;
    inside = true;
    span.to = at + 1;
  }
  return span;
}

// The words of a file; with `keep_spaces` the runs of white space between them too.
class Words {
 public:
  Words(int fd, bool keep_spaces) : bytes_(fd), keep_spaces_(keep_spaces), ahead_(bytes_.next()) {}

  // Empty at the end.
  std::string next() {
    std::string word;
    if (keep_spaces_ && is_space(ahead_)) {
      gather(word, true);
      return word;
    }
    while (is_space(ahead_)) ahead_ = bytes_.next();
    gather(word, false);
    return word;
  }

 private:
  static bool is_space(int c) { return c == '\n' || is_blank(c); }

  void gather(std::string& word, bool spaces) {
    for (; ahead_ != Bytes::end && is_space(ahead_) == spaces; ahead_ = bytes_.next())
      word += static_cast<char>(ahead_);
  }

  Bytes bytes_;
  bool keep_spaces_;
  int ahead_;
};

bool as_number(const std::string& word, double& number) {
  char* end = nullptr;
  number = std::strtod(word.c_str(), &end);
  return !word.empty() && *end == '\0' && std::isfinite(number);
}

bool same_word(const std::string& ours, const std::string& theirs, const Tokens& rules) {
  double a, b;
  if (rules.tolerant() && as_number(theirs, b)) return as_number(ours, a) && rules.close(a, b);
  if (rules.case_sensitive) return ours == theirs;
  return strcasecmp(ours.c_str(), theirs.c_str()) == 0 && ours.size() == theirs.size();
}

constexpr size_t largest_value = 16 << 20;
constexpr int deepest_value = 500;

bool written_whole(const ::json::Value& value) {
  return value.text.find_first_not_of("0123456789", value.text[0] == '-' ? 1 : 0) == std::string::npos;
}

// The digits of a whole number, however many these are; empty where a number has a fraction.
std::string whole(const ::json::Value& value) {
  std::string digits = value.text;
  if (!written_whole(value)) {
    if (value.number != std::floor(value.number)) return "";
    char exact[400];
    std::snprintf(exact, sizeof exact, "%.0f", value.number);
    digits = exact;
  }
  const size_t sign = digits[0] == '-' ? 1 : 0, first = digits.find_first_not_of('0', sign);
  return first == std::string::npos ? "0" : (sign ? "-" : "") + digits.substr(first);
}

class Values {
 public:
  explicit Values(const Tokens& rules) : rules_(rules) {}

  bool same(const ::json::Value& a, const ::json::Value& b) const {
    using Kind = ::json::Value::Kind;
    const auto numeric = [](const ::json::Value& value) { return value.kind == Kind::number ||
        value.kind == Kind::boolean; };
    if (numeric(a) && numeric(b)) return same_number(a, b);
    if (a.kind != b.kind) return false;
    switch (a.kind) {
      case Kind::text: return a.text == b.text;
      case Kind::list: return same_list(a, b);
      case Kind::object: return same_object(a, b);
      default: return true;
    }
  }

 private:
  // Exactly, as Python compares: what is written as a whole number is never rounded to a float. Two of these are equal
  // or not, whatever the tolerance.
  bool same_number(const ::json::Value& a, const ::json::Value& b) const {
    const bool ours = written_whole(a), theirs = written_whole(b);
    if (ours || theirs ? whole(a) == whole(b) : a.number == b.number) return true;
    const bool floats = std::isfinite(a.number) && std::isfinite(b.number) && !(ours && theirs);
    return floats && rules_.tolerant() && rules_.close(a.number, b.number);
  }

  bool same_list(const ::json::Value& a, const ::json::Value& b) const {
    const auto alike = [this](const auto& x, const auto& y) { return same(x, y); };
    return a.list.size() == b.list.size() && std::equal(a.list.begin(), a.list.end(), b.list.begin(), alike);
  }

  bool same_object(const ::json::Value& a, const ::json::Value& b) const {
    const auto alike = [this](const auto& x, const auto& y) { return x.first == y.first && same(x.second, y.second); };
    return a.object.size() == b.object.size() && std::equal(a.object.begin(), a.object.end(), b.object.begin(), alike);
  }

  Tokens rules_;
};

size_t values_in(const ::json::Value& value) {
  size_t all = 1;
  for (const ::json::Value& item : value.list) all += values_in(item);
  for (const auto& field : value.object) all += values_in(field.second);
  return all;
}

}  // namespace

bool Tokens::close(double ours, double theirs) const {
  const double apart = std::fabs(ours - theirs);
  return apart <= absolute || apart <= relative * std::fabs(theirs);
}

bool exact(int output, int answer) {
  Bytes ours(output), theirs(answer);
  for (;;) {
    const int a = ours.next();
    if (a != theirs.next()) return false;
    if (a == Bytes::end) return true;
  }
}

bool tokens(int output, int answer, const Tokens& rules) {
  Words ours(output, rules.space_sensitive), theirs(answer, rules.space_sensitive);
  for (;;) {
    const std::string a = ours.next(), b = theirs.next();
    if (a.empty() || b.empty()) return a.empty() && b.empty();
    if (!same_word(a, b, rules)) return false;
  }
}

bool json(int output, int answer, const Tokens& rules, bool wrapped) {
  if (stripped(output, answer)) return true;
  if (files::size(output) > static_cast<int64_t>(largest_value)) return false;
  const ::json::Value expected = ::json::parse(files::read_all(answer, largest_value), deepest_value);
  try {
    // What has more values than the answer is another one, and is not read to its end: a list of millions would fill
    // our memory.
    const ::json::Value value =
        ::json::parse(files::read_all(output, largest_value), deepest_value, values_in(expected));
    const Values values(rules);
    return values.same(value, expected) ||
        (wrapped && expected.list.size() == 1 && values.same(value, expected.list[0]));
  } catch (const sys::Failure&) {
    return false;  // what the submission gave back is no JSON
  }
}

bool white_diff(int output, int answer) { return same_symbols(Symbols(output), Symbols(answer)); }

bool word_lines(int output, int answer) { return same_symbols(Symbols(output, false), Symbols(answer, false)); }

bool stripped(int output, int answer) {
  const Span a = inner(output), b = inner(answer);
  if (a.to - a.from != b.to - b.from) return false;
  Bytes ours(output, a.from), theirs(answer, b.from);
  for (int64_t left = a.to - a.from; left > 0; --left)
    if (ours.next() != theirs.next()) return false;
  return true;
}

Comparison named(const std::string& name) {
  static const std::map<std::string, Comparison> all = {
      {"white-diff", [](int output, int answer, const Tokens&) { return white_diff(output, answer); }},
      {"word-lines", [](int output, int answer, const Tokens&) { return word_lines(output, answer); }},
      {"stripped", [](int output, int answer, const Tokens&) { return stripped(output, answer); }},
      {"stripped-lines", [](int output, int answer, const Tokens&) { return stripped_lines(output, answer); }},
      {"exact", [](int output, int answer, const Tokens&) { return exact(output, answer); }},
      {"tokens", tokens},
      {"lines", [](int output, int answer, const Tokens&) { return lines(output, answer); }},
      {"float-lines", [](int output, int answer, const Tokens&) { return float_lines(output, answer); }},
      {"apps", [](int output, int answer, const Tokens&) { return apps(output, answer); }},
      {"prime-code", [](int output, int answer, const Tokens&) { return prime_code(output, answer); }},
      {"json", [](int output, int answer, const Tokens& rules) { return json(output, answer, rules); }},
      {"json-wrapped", [](int output, int answer, const Tokens& rules) { return json(output, answer, rules, true); }},
  };
  const auto found = all.find(name);
  return found == all.end() ? nullptr : found->second;
}

}  // namespace compare
