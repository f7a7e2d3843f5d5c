#include "compare.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "byte_reader.hpp"
#include "files.hpp"
#include "json.hpp"
#include "python_text.hpp"

namespace compare {
namespace {

// --- by symbols --------------------------------------------------------------------------------------

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

// --- by words ----------------------------------------------------------------------------------------

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

bool as_number(const std::string& word, long double& number) {
  char* end = nullptr;
  number = std::strtold(word.c_str(), &end);
  return !word.empty() && end == word.c_str() + word.size() && std::isfinite(number);
}

bool same_word(const std::string& ours, const std::string& theirs, const Tokens& rules) {
  long double a, b;
  if (rules.tolerant() && as_number(theirs, b)) return as_number(ours, a) && rules.close(a, b);
  if (rules.case_sensitive) return ours == theirs;
  const auto alike = [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); };
  return std::equal(ours.begin(), ours.end(), theirs.begin(), theirs.end(), alike);
}

// --- by lines and the words on them ------------------------------------------------------------------

bool is_decimal_digit(char c) { return c >= '0' && c <= '9'; }

// What a file is made of, line by line. White space at both ends of the file and of a line is not in it.
struct Piece {
  enum class Kind { word, line_end, file_end };

  Kind kind = Kind::file_end;
  std::string gap, text;  // of a word: the white space between it and the word before it on its line, and itself
};

class Pieces {
 public:
  explicit Pieces(int fd) : bytes_(fd), ahead_(bytes_.next()) {}

  Piece next() {
    std::string gap;
    if (breaks_ == 0) gap = skip_space();
    if (breaks_ > 0) return --breaks_, Piece{Piece::Kind::line_end, "", ""};
    if (ahead_ == Bytes::end) return {};
    started_ = true;
    return {Piece::Kind::word, gap, word()};
  }

 private:
  // The white space before the next word of this line; `breaks_` counts the lines that end before it.
  std::string skip_space() {
    if (between_) return between_ = false, "";
    std::string gap;
    for (; is_strippable(ahead_); ahead_ = bytes_.next()) {
      gap += static_cast<char>(ahead_);
      if (ahead_ == '\n') ++breaks_;
    }
    if (ahead_ == Bytes::end || !started_) return breaks_ = 0, "";
    between_ = breaks_ > 0;
    return gap;
  }

  std::string word() {
    std::string text;
    for (; ahead_ != Bytes::end && !is_strippable(ahead_); ahead_ = bytes_.next()) text += static_cast<char>(ahead_);
    return text;
  }

  Bytes bytes_;
  int ahead_;
  int64_t breaks_ = 0;    // line ends still to be given
  bool between_ = false;  // they stand before the word that comes next
  bool started_ = false;
};

// A decimal number as its digits without zeros at the ends, and the place of the point; not `valid` where a word is
// none.
struct Decimal {
  bool valid = false, negative = false;
  std::string digits;
  int64_t exponent = 0;

  bool operator==(const Decimal& other) const {
    return valid && other.valid && digits == other.digits &&
        (digits.empty() || (negative == other.negative && exponent == other.exponent));
  }
};

class DecimalReader {
 public:
  explicit DecimalReader(const std::string& word) : word_(word) {}

  Decimal decimal() {
    Decimal number;
    number.negative = sign();
    read_digits(number, false);
    if (took('.')) read_digits(number, true);
    number.valid = any_ && exponent(number) && at_ == word_.size();
    trim(number);
    return number;
  }

 private:
  static constexpr size_t longest_exponent = 17;

  bool took(char wanted) { return at_ < word_.size() && word_[at_] == wanted ? ++at_, true : false; }

  bool sign() { return took('-') || (took('+'), false); }

  void read_digits(Decimal& number, bool behind_point) {
    for (; at_ < word_.size() && is_decimal_digit(word_[at_]); ++at_, any_ = true) {
      number.digits += word_[at_];
      if (behind_point) --number.exponent;
    }
  }

  bool exponent(Decimal& number) {
    if (!took('e') && !took('E')) return true;
    const bool negative = sign();
    const size_t from = at_;
    int64_t value = 0;
    for (; at_ < word_.size() && is_decimal_digit(word_[at_]) && at_ - from < longest_exponent; ++at_)
      value = value * 10 + (word_[at_] - '0');
    number.exponent += negative ? -value : value;
    return at_ > from;
  }

  static void trim(Decimal& number) {
    number.digits.erase(0, number.digits.find_first_not_of('0'));  // of zeros alone: all
    while (!number.digits.empty() && number.digits.back() == '0') number.digits.pop_back(), ++number.exponent;
  }

  const std::string& word_;
  size_t at_ = 0;
  bool any_ = false;
};

bool same_decimal(const std::string& a, const std::string& b) {
  return DecimalReader(a).decimal() == DecimalReader(b).decimal();
}

bool same_pieces(int output, int answer, bool numbers) {
  Pieces ours(output), theirs(answer);
  bool equal = true, equal_numbers = numbers;  // the line so far
  for (;;) {
    const Piece a = ours.next(), b = theirs.next();
    if (a.kind != b.kind) return false;
    if (a.kind == Piece::Kind::file_end) return true;
    if (a.kind == Piece::Kind::line_end) {
      equal = true, equal_numbers = numbers;
      continue;
    }
    equal = equal && a.gap == b.gap && a.text == b.text;
    equal_numbers = equal_numbers && same_decimal(a.text, b.text);
    if (!equal && !equal_numbers) return false;
  }
}

// --- by lines as Python has them ---------------------------------------------------------------------

using Same = bool (*)(const std::string& ours, const std::string& theirs);

bool equal(const std::string& ours, const std::string& theirs) { return ours == theirs; }

// Empty lines at the end of the output do not count, and those of the answer do: so their answer is never met.
bool same_lines(int output, int answer, Same same) {
  Lines ours(output, Lines::Ends::python), theirs(answer, Lines::Ends::python);
  std::string a, b;
  bool may_end = true;
  while (theirs.next(b)) {
    b = strip(b);
    if (!ours.next(a) || !same(strip(a), b)) return false;
    may_end = !b.empty();
  }
  while (ours.next(a))
    if (!strip(a).empty()) return false;
  return may_end;
}

// --- as the harness of APPS, and verl's prime_code after it: what one of the ways calls right is right -

using Texts = std::vector<std::string>;

// One way to be right. It meets the lines of the output one by one and keeps none: only the answer is held in memory.
class Way {
 public:
  virtual ~Way() = default;

  // False: the output can no longer be right in this way.
  virtual bool meet(const std::string& line) = 0;

  // Whether an output that ends here is right.
  virtual bool end() const = 0;
};

// The whole is equal without the white space at its ends; of the output's lines it may be taken away, too.
class Whole : public Way {
 public:
  Whole(const Texts& answer, bool strip_lines) : strip_lines_(strip_lines) {
    const auto visible = [](const std::string& line) { return !strip(line).empty(); };
    const auto first = std::find_if(answer.begin(), answer.end(), visible);
    expected_.assign(first, std::find_if(answer.rbegin(), std::make_reverse_iterator(first), visible).base());
    if (expected_.empty()) return;
    expected_.front() = strip(expected_.front(), true, false);
    expected_.back() = strip(expected_.back(), false, true);
  }

  bool meet(const std::string& line) override {
    const std::string bare = strip(line);
    if (bare.empty()) return skip(line);
    at_ += gap_, gap_ = 0;
    if (!gap_fits_ || at_ >= expected_.size()) return false;
    const std::string& ours = strip_lines_ ? bare : strip(line, at_ == 0, at_ + 1 == expected_.size());
    return ours == expected_[at_++];
  }

  bool end() const override { return at_ == expected_.size(); }

 private:
  // Counts only where something visible comes before and after it.
  bool skip(const std::string& line) {
    if (at_ == 0) return true;
    const size_t place = at_ + gap_++;
    gap_fits_ = gap_fits_ && place < expected_.size() && expected_[place] == (strip_lines_ ? "" : line);
    return true;
  }

  bool strip_lines_;
  Texts expected_;
  size_t at_ = 0, gap_ = 0;
  bool gap_fits_ = true;
};

// Line by line, empty ones of the output left out or not.
class InTurn : public Way {
 public:
  InTurn(const Texts& expected, bool skip_empty, Same same)
      : expected_(expected), skip_empty_(skip_empty), same_(same) {}

  bool meet(const std::string& line) override {
    if (skip_empty_ && line.empty()) return true;
    return at_ < expected_.size() && same_(line, expected_[at_++]);
  }

  bool end() const override { return at_ == expected_.size(); }

 private:
  const Texts& expected_;
  bool skip_empty_;
  Same same_;
  size_t at_ = 0;
};

// As floats, unless each line of both is written in digits alone: floats would take two large whole numbers for one.
class Floats : public InTurn {
 public:
  explicit Floats(const Texts& expected) : InTurn(expected, true, close_floats) {
    whole_ = std::all_of(expected.begin(), expected.end(), digits);
  }

  bool meet(const std::string& line) override {
    whole_ = whole_ && (line.empty() || digits(line));
    return InTurn::meet(line);
  }

  bool end() const override { return !whole_ && InTurn::end(); }

 private:
  static bool digits(const std::string& line) {
    return !line.empty() && line.find_first_not_of("0123456789") == std::string::npos;
  }

  bool whole_;
};

// How a word counts; false where it cannot.
using Reading = bool (*)(std::string& word);

// Lines are sets of words, and the whole is a set of lines: neither order nor repetition counts.
class Sets : public Way {
 public:
  Sets(const Texts& expected, Reading read) : read_(read) {
    for (const std::string& line : expected) {
      std::set<std::string> words;
      possible_ = possible_ && gather(line, words, nullptr);
      known_.insert(words.begin(), words.end());
      met_[words] = false;
    }
  }

  bool meet(const std::string& line) override {
    std::set<std::string> words;
    if (!possible_ || !gather(line, words, &known_)) return false;
    if (words.empty()) return true;
    const auto found = met_.find(words);
    if (found == met_.end()) return false;
    found->second = true;
    return true;
  }

  bool end() const override {
    return possible_ && std::all_of(met_.begin(), met_.end(), [](const auto& line) { return line.second; });
  }

 private:
  // With `known` it stops at other words: a line of millions would fill our memory.
  bool gather(const std::string& line, std::set<std::string>& words, const std::set<std::string>* known) const {
    PythonWords all(line);
    for (std::string word = all.next(); !word.empty(); word = all.next()) {
      if (!read_(word) || (known && !known->count(word))) return false;
      words.insert(word);
    }
    return true;
  }

  Reading read_;
  bool possible_ = true;
  std::set<std::string> known_;
  std::map<std::set<std::string>, bool> met_;
};

// A number is what it is rounded to three places. What is not a number is not equal to itself either.
bool round_number(std::string& word) {
  double value;
  if (!read_float(word, value) || std::isnan(value)) return false;
  char text[400];
  std::snprintf(text, sizeof text, "%.3f", value);
  word = std::string(text) == "-0.000" ? "0.000" : text;
  return true;
}

Texts lines_of(int answer) {
  Texts found;
  Lines lines(answer, Lines::Ends::newline);
  for (std::string line; lines.next(line);) found.push_back(line);
  return found;
}

bool in_some_way(int output, int answer, bool prime) {
  const Reading as_it_is = [](std::string&) { return true; };
  const Texts written = lines_of(answer);
  Texts expected;
  for (const std::string& line : written)
    if (!line.empty()) expected.push_back(strip(line));

  std::vector<std::unique_ptr<Way>> ways;
  for (const bool strip_lines : {false, true}) ways.push_back(std::make_unique<Whole>(written, strip_lines));
  for (const bool skip_empty : {false, true}) ways.push_back(std::make_unique<InTurn>(expected, skip_empty, equal));
  if (prime) {
    ways.push_back(std::make_unique<Floats>(expected));
  } else {
    ways.push_back(std::make_unique<InTurn>(expected, true, close_floats));
    for (const Reading read : {as_it_is, Reading(round_number)}) ways.push_back(std::make_unique<Sets>(expected, read));
  }

  Lines ours(output, Lines::Ends::python);
  for (std::string line; !ways.empty() && ours.next(line);)
    ways.erase(std::remove_if(ways.begin(), ways.end(), [&](const auto& way) { return !way->meet(line); }), ways.end());
  return std::any_of(ways.begin(), ways.end(), [](const auto& way) { return way->end(); });
}

// --- by values of JSON -------------------------------------------------------------------------------

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
    return floats && rules_.tolerant() && close(a.number, b.number);
  }

  // As floats of Python.
  bool close(double ours, double theirs) const {
    const double apart = std::fabs(ours - theirs);
    const auto absolute = static_cast<double>(rules_.absolute), relative = static_cast<double>(rules_.relative);
    return apart <= absolute || apart <= relative * std::fabs(theirs);
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

bool same_values(int output, int answer, const Tokens& rules, bool wrapped) {
  if (stripped(output, answer, rules)) return true;
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

}  // namespace

bool Tokens::close(long double ours, long double theirs) const {
  const long double apart = std::fabs(ours - theirs);
  // Divided: a quotient that is as large as the tolerance is rounded as the tolerance was, a product is not.
  return apart == 0 || apart <= absolute || apart / std::fabs(theirs) <= relative;
}

bool exact(int output, int answer, const Tokens&) {
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

bool white_diff(int output, int answer, const Tokens&) { return same_symbols(Symbols(output), Symbols(answer)); }

bool word_lines(int output, int answer, const Tokens&) {
  return same_symbols(Symbols(output, false), Symbols(answer, false));
}

bool stripped(int output, int answer, const Tokens&) {
  const Span a = inner(output), b = inner(answer);
  if (a.to - a.from != b.to - b.from) return false;
  Bytes ours(output, a.from), theirs(answer, b.from);
  for (int64_t left = a.to - a.from; left > 0; --left)
    if (ours.next() != theirs.next()) return false;
  return true;
}

bool lines(int output, int answer, const Tokens&) { return same_pieces(output, answer, true); }

bool stripped_lines(int output, int answer, const Tokens&) { return same_pieces(output, answer, false); }

bool float_lines(int output, int answer, const Tokens&) {
  return same_lines(output, answer, equal) || same_lines(output, answer, close_floats);
}

bool apps(int output, int answer, const Tokens&) { return in_some_way(output, answer, false); }

bool prime_code(int output, int answer, const Tokens&) { return in_some_way(output, answer, true); }

bool json(int output, int answer, const Tokens& rules) { return same_values(output, answer, rules, false); }

bool json_wrapped(int output, int answer, const Tokens& rules) { return same_values(output, answer, rules, true); }

Comparison named(const std::string& name) {
  static const std::map<std::string, Comparison> all = {
      {"apps", apps},
      {"exact", exact},
      {"float-lines", float_lines},
      {"json", json},
      {"json-wrapped", json_wrapped},
      {"lines", lines},
      {"prime-code", prime_code},
      {"stripped", stripped},
      {"stripped-lines", stripped_lines},
      {"tokens", tokens},
      {"white-diff", white_diff},
      {"word-lines", word_lines},
  };
  const auto found = all.find(name);
  return found == all.end() ? nullptr : found->second;
}

}  // namespace compare
