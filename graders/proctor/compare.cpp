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

// The symbols of a file: the visible bytes, and one blank or newline for the white space between them. Two files are
// equal for the white diff if their symbols are. Without `keeps_blank_lines`, a carriage return also ends a line.
class Symbols {
 public:
  explicit Symbols(int fd, bool keeps_blank_lines = true) : bytes_(fd), keeps_blank_lines_(keeps_blank_lines) {}

  int read_next() {
    if (newlines_ > 0) return --newlines_, '\n';
    if (held_byte_ != none) return take_held_symbol();
    bool blank = false;
    for (;;) {
      const int c = bytes_.read_next();
      if (c == ByteReader::end) return c;
      if (c == '\n' || (c == '\r' && !keeps_blank_lines_)) {
        ++line_breaks_, blank = false, line_started_ = false;
      } else if (is_blank(c)) {
        blank = true;
      } else {
        return take_visible_symbol(c, blank && line_started_);
      }
    }
  }

 private:
  static constexpr int none = -2;

  // Returns the symbol before a visible byte, if there is one, and stores the byte; else returns the byte.
  int take_visible_symbol(int c, bool separated) {
    line_started_ = true;
    const bool first = !std::exchange(has_visible_, true);
    if (!keeps_blank_lines_) line_breaks_ = first ? 0 : std::min<int64_t>(line_breaks_, 1);
    if (line_breaks_ == 0 && !separated) return c;
    held_byte_ = c;
    if (line_breaks_ == 0) return ' ';
    newlines_ = line_breaks_ - 1;
    line_breaks_ = 0;
    return '\n';
  }

  int take_held_symbol() {
    const int c = held_byte_;
    held_byte_ = none;
    return c;
  }

  ByteReader bytes_;
  bool keeps_blank_lines_, has_visible_ = false;
  // line breaks since the last visible byte; newlines that `next` still has to return
  int64_t line_breaks_ = 0, newlines_ = 0;
  int held_byte_ = none;
  bool line_started_ = false;
};

bool has_same_symbols(Symbols ours, Symbols theirs) {
  for (;;) {
    const int a = ours.read_next(), b = theirs.read_next();
    if (a != b) return false;
    if (a == ByteReader::end) return true;
  }
}

struct Span {
  int64_t from = 0, to = 0;
};

Span find_stripped_span(int fd) {
  Span span;
  bool has_started = false;
  ByteReader bytes(fd);
  int64_t position = 0;
  for (int c; (c = bytes.read_next()) != ByteReader::end; ++position) {
    if (is_strippable(c)) continue;
    if (!has_started) span.from = position;
    has_started = true;
    span.to = position + 1;
  }
  return span;
}

// --- by words ----------------------------------------------------------------------------------------

// The words of a file. With `keeps_spaces`, also the runs of white space between them.
class Words {
 public:
  Words(int fd, bool keeps_spaces) : bytes_(fd), keeps_spaces_(keeps_spaces), next_byte_(bytes_.read_next()) {}

  // Returns an empty string at the end.
  std::string read_next() {
    std::string word;
    if (keeps_spaces_ && is_space(next_byte_)) {
      append_run(word, true);
      return word;
    }
    while (is_space(next_byte_)) next_byte_ = bytes_.read_next();
    append_run(word, false);
    return word;
  }

 private:
  static bool is_space(int c) { return c == '\n' || is_blank(c); }

  void append_run(std::string& word, bool spaces) {
    for (; next_byte_ != ByteReader::end && is_space(next_byte_) == spaces; next_byte_ = bytes_.read_next())
      word += static_cast<char>(next_byte_);
  }

  ByteReader bytes_;
  bool keeps_spaces_;
  int next_byte_;
};

bool parse_number(const std::string& word, long double& number) {
  char* end = nullptr;
  number = std::strtold(word.c_str(), &end);
  return !word.empty() && end == word.c_str() + word.size() && std::isfinite(number);
}

bool is_same_word(const std::string& ours, const std::string& theirs, const TokenRules& rules) {
  long double a, b;
  if (rules.has_tolerance() && parse_number(theirs, b)) return parse_number(ours, a) && rules.is_close(a, b);
  if (rules.case_sensitive) return ours == theirs;
  const auto same_letter = [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); };
  return std::equal(ours.begin(), ours.end(), theirs.begin(), theirs.end(), same_letter);
}

// --- by lines and their words ------------------------------------------------------------------------

bool is_decimal_digit(char c) { return c >= '0' && c <= '9'; }

// A word, the end of a line, or the end of the file. White space at both ends of the file and of a line is skipped.
struct LineItem {
  enum class Kind { word, line_end, file_end };

  Kind kind = Kind::file_end;
  std::string gap, text;  // of a word: the white space before it on its line, and the word
};

class LineItems {
 public:
  explicit LineItems(int fd) : bytes_(fd), next_byte_(bytes_.read_next()) {}

  LineItem read_next() {
    std::string gap;
    if (line_ends_ == 0) gap = skip_space();
    if (line_ends_ > 0) return --line_ends_, LineItem{LineItem::Kind::line_end, "", ""};
    if (next_byte_ == ByteReader::end) return {};
    has_words_ = true;
    return {LineItem::Kind::word, gap, read_word()};
  }

 private:
  // Skips and returns the white space before the next word of this line. Counts the lines that end before it in
  // `line_ends_`.
  std::string skip_space() {
    if (at_line_start_) return at_line_start_ = false, "";
    std::string gap;
    for (; is_strippable(next_byte_); next_byte_ = bytes_.read_next()) {
      gap += static_cast<char>(next_byte_);
      if (next_byte_ == '\n') ++line_ends_;
    }
    if (next_byte_ == ByteReader::end || !has_words_) return line_ends_ = 0, "";
    at_line_start_ = line_ends_ > 0;
    return gap;
  }

  std::string read_word() {
    std::string text;
    for (; next_byte_ != ByteReader::end && !is_strippable(next_byte_); next_byte_ = bytes_.read_next())
      text += static_cast<char>(next_byte_);
    return text;
  }

  ByteReader bytes_;
  int next_byte_;
  int64_t line_ends_ = 0;       // line ends that `next` still has to return
  bool at_line_start_ = false;  // the next word is the first one of its line
  bool has_words_ = false;
};

// A decimal number: its digits without zeros at the ends, and the exponent. Not `valid` if the word is not a number.
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

  Decimal read_decimal() {
    Decimal number;
    number.negative = read_sign();
    read_digits(number, false);
    if (skip('.')) read_digits(number, true);
    number.valid = has_digits_ && read_exponent(number) && position_ == word_.size();
    trim_zeros(number);
    return number;
  }

 private:
  static constexpr size_t longest_exponent = 17;

  bool skip(char letter) { return position_ < word_.size() && word_[position_] == letter ? ++position_, true : false; }

  bool read_sign() { return skip('-') || (skip('+'), false); }

  void read_digits(Decimal& number, bool behind_point) {
    for (; position_ < word_.size() && is_decimal_digit(word_[position_]); ++position_, has_digits_ = true) {
      number.digits += word_[position_];
      if (behind_point) --number.exponent;
    }
  }

  bool read_exponent(Decimal& number) {
    if (!skip('e') && !skip('E')) return true;
    const bool negative = read_sign();
    const size_t start = position_;
    int64_t value = 0;
    for (; position_ < word_.size() && is_decimal_digit(word_[position_]) && position_ - start < longest_exponent;
        ++position_)
      value = value * 10 + (word_[position_] - '0');
    number.exponent += negative ? -value : value;
    return position_ > start;
  }

  static void trim_zeros(Decimal& number) {
    number.digits.erase(0, number.digits.find_first_not_of('0'));  // erases all digits if all are zeros
    while (!number.digits.empty() && number.digits.back() == '0') number.digits.pop_back(), ++number.exponent;
  }

  const std::string& word_;
  size_t position_ = 0;
  bool has_digits_ = false;
};

bool is_same_decimal(const std::string& a, const std::string& b) {
  return DecimalReader(a).read_decimal() == DecimalReader(b).read_decimal();
}

bool has_same_line_items(int output_fd, int answer_fd, bool compares_numbers) {
  LineItems ours(output_fd), theirs(answer_fd);
  bool is_equal = true, has_equal_numbers = compares_numbers;  // of the words so far on the line
  for (;;) {
    const LineItem a = ours.read_next(), b = theirs.read_next();
    if (a.kind != b.kind) return false;
    if (a.kind == LineItem::Kind::file_end) return true;
    if (a.kind == LineItem::Kind::line_end) {
      is_equal = true, has_equal_numbers = compares_numbers;
      continue;
    }
    is_equal = is_equal && a.gap == b.gap && a.text == b.text;
    has_equal_numbers = has_equal_numbers && is_same_decimal(a.text, b.text);
    if (!is_equal && !has_equal_numbers) return false;
  }
}

// --- by lines as Python splits them ------------------------------------------------------------------

using LineComparison = bool (*)(const std::string& ours, const std::string& theirs);

bool is_same_line(const std::string& ours, const std::string& theirs) { return ours == theirs; }

// Compares line by line. Empty lines at the end of the output are ignored, but not those of the answer. So an answer
// that ends with an empty line never matches.
bool has_same_lines(int output_fd, int answer_fd, LineComparison compare_lines) {
  Lines ours(output_fd, Lines::Ends::python), theirs(answer_fd, Lines::Ends::python);
  std::string a, b;
  bool may_end = true;
  while (theirs.read_next(b)) {
    b = strip(b);
    if (!ours.read_next(a) || !compare_lines(strip(a), b)) return false;
    may_end = !b.empty();
  }
  while (ours.read_next(a))
    if (!strip(a).empty()) return false;
  return may_end;
}

// --- like the harness of APPS and verl's prime_code: any criterion accepts the output -----------------

using Strings = std::vector<std::string>;

// A criterion for accepting an output. It gets the lines of the output one by one and stores none of them, so that only
// the answer is in memory.
class Criterion {
 public:
  virtual ~Criterion() = default;

  // Adds the next line. Returns false if the output can no longer meet the criterion.
  virtual bool accepts(const std::string& line) = 0;

  // Returns whether an output that ends here meets the criterion.
  virtual bool is_met() const = 0;
};

// The file is equal after white space at its ends is stripped, with `strip_lines` also at the ends of the output's
// lines.
class WholeText : public Criterion {
 public:
  WholeText(const Strings& answer, bool strip_lines) : strip_lines_(strip_lines) {
    const auto visible = [](const std::string& line) { return !strip(line).empty(); };
    const auto first = std::find_if(answer.begin(), answer.end(), visible);
    expected_.assign(first, std::find_if(answer.rbegin(), std::make_reverse_iterator(first), visible).base());
    if (expected_.empty()) return;
    expected_.front() = strip(expected_.front(), true, false);
    expected_.back() = strip(expected_.back(), false, true);
  }

  bool accepts(const std::string& line) override {
    const std::string bare = strip(line);
    if (bare.empty()) return skip_blank_line(line);
    position_ += blank_lines_, blank_lines_ = 0;
    if (!blank_lines_fit_ || position_ >= expected_.size()) return false;
    const std::string& ours = strip_lines_ ? bare : strip(line, position_ == 0, position_ + 1 == expected_.size());
    return ours == expected_[position_++];
  }

  bool is_met() const override { return position_ == expected_.size(); }

 private:
  // Blank lines count only between visible lines.
  bool skip_blank_line(const std::string& line) {
    if (position_ == 0) return true;
    const size_t index = position_ + blank_lines_++;
    blank_lines_fit_ = blank_lines_fit_ && index < expected_.size() && expected_[index] == (strip_lines_ ? "" : line);
    return true;
  }

  bool strip_lines_;
  Strings expected_;
  size_t position_ = 0, blank_lines_ = 0;
  bool blank_lines_fit_ = true;
};

// The lines are equal one by one. With `skip_empty`, empty lines of the output are ignored.
class LineByLine : public Criterion {
 public:
  LineByLine(const Strings& expected, bool skip_empty, LineComparison same)
      : expected_(expected), skip_empty_(skip_empty), same_(same) {}

  bool accepts(const std::string& line) override {
    if (skip_empty_ && line.empty()) return true;
    return position_ < expected_.size() && same_(line, expected_[position_++]);
  }

  bool is_met() const override { return position_ == expected_.size(); }

 private:
  const Strings& expected_;
  bool skip_empty_;
  LineComparison same_;
  size_t position_ = 0;
};

// The lines are equal as floats. If all lines of both files are written in digits alone, the criterion is never met,
// because large whole numbers lose digits as floats.
class FloatLines : public LineByLine {
 public:
  explicit FloatLines(const Strings& expected) : LineByLine(expected, true, are_close_floats) {
    all_whole_ = std::all_of(expected.begin(), expected.end(), is_digits);
  }

  bool accepts(const std::string& line) override {
    all_whole_ = all_whole_ && (line.empty() || is_digits(line));
    return LineByLine::accepts(line);
  }

  bool is_met() const override { return !all_whole_ && LineByLine::is_met(); }

 private:
  static bool is_digits(const std::string& line) {
    return !line.empty() && line.find_first_not_of("0123456789") == std::string::npos;
  }

  bool all_whole_;
};

// Normalizes a word. Returns false if it has no such form.
using WordReader = bool (*)(std::string& word);

// A line is a set of words, and a file is a set of lines: order and repetition do not matter.
class WordSets : public Criterion {
 public:
  WordSets(const Strings& expected, WordReader read) : read_(read) {
    for (const std::string& line : expected) {
      std::set<std::string> words;
      is_possible_ = is_possible_ && read_words(line, words, nullptr);
      answer_words_.insert(words.begin(), words.end());
      seen_lines_[words] = false;
    }
  }

  bool accepts(const std::string& line) override {
    std::set<std::string> words;
    if (!is_possible_ || !read_words(line, words, &answer_words_)) return false;
    if (words.empty()) return true;
    const auto expected_line = seen_lines_.find(words);
    if (expected_line == seen_lines_.end()) return false;
    expected_line->second = true;
    return true;
  }

  bool is_met() const override {
    return is_possible_ &&
        std::all_of(seen_lines_.begin(), seen_lines_.end(), [](const auto& line) { return line.second; });
  }

 private:
  // With `allowed_words`, stops at any other word: a line of millions of words would fill our memory.
  bool read_words(
      const std::string& line, std::set<std::string>& words, const std::set<std::string>* allowed_words) const {
    PythonWords line_words(line);
    for (std::string word = line_words.read_next(); !word.empty(); word = line_words.read_next()) {
      if (!read_(word) || (allowed_words && !allowed_words->count(word))) return false;
      words.insert(word);
    }
    return true;
  }

  WordReader read_;
  bool is_possible_ = true;
  std::set<std::string> answer_words_;
  std::map<std::set<std::string>, bool> seen_lines_;
};

// Rounds a number to three places. NaN has no such form, because it does not equal itself.
bool round_number(std::string& word) {
  double value;
  if (!read_float(word, value) || std::isnan(value)) return false;
  char text[400];
  std::snprintf(text, sizeof text, "%.3f", value);
  word = std::string(text) == "-0.000" ? "0.000" : text;
  return true;
}

Strings read_lines(int answer_fd) {
  Strings strings;
  Lines lines(answer_fd, Lines::Ends::newline);
  for (std::string line; lines.read_next(line);) strings.push_back(line);
  return strings;
}

bool meets_any_criterion(int output_fd, int answer_fd, bool is_prime_code) {
  const WordReader unchanged = [](std::string&) { return true; };
  const Strings raw_lines = read_lines(answer_fd);
  Strings expected;
  for (const std::string& line : raw_lines)
    if (!line.empty()) expected.push_back(strip(line));

  std::vector<std::unique_ptr<Criterion>> criteria;
  for (const bool strip_lines : {false, true}) criteria.push_back(std::make_unique<WholeText>(raw_lines, strip_lines));
  for (const bool skip_empty : {false, true})
    criteria.push_back(std::make_unique<LineByLine>(expected, skip_empty, is_same_line));
  if (is_prime_code) {
    criteria.push_back(std::make_unique<FloatLines>(expected));
  } else {
    criteria.push_back(std::make_unique<LineByLine>(expected, true, are_close_floats));
    for (const WordReader read : {unchanged, WordReader(round_number)})
      criteria.push_back(std::make_unique<WordSets>(expected, read));
  }

  Lines ours(output_fd, Lines::Ends::python);
  for (std::string line; !criteria.empty() && ours.read_next(line);)
    criteria.erase(std::remove_if(criteria.begin(), criteria.end(),
                       [&](const auto& criterion) { return !criterion->accepts(line); }),
        criteria.end());
  return std::any_of(criteria.begin(), criteria.end(), [](const auto& criterion) { return criterion->is_met(); });
}

// --- by JSON values ----------------------------------------------------------------------------------

constexpr size_t max_json_bytes = 16 << 20;
constexpr int max_json_depth = 500;

bool is_written_whole(const ::json::Value& value) {
  return value.text.find_first_not_of("0123456789", value.text[0] == '-' ? 1 : 0) == std::string::npos;
}

// Returns the digits of a whole number of any length; empty if the number has a fraction.
std::string format_whole_number(const ::json::Value& value) {
  std::string digits = value.text;
  if (!is_written_whole(value)) {
    if (value.number != std::floor(value.number)) return "";
    char exact[400];
    std::snprintf(exact, sizeof exact, "%.0f", value.number);
    digits = exact;
  }
  const size_t sign = digits[0] == '-' ? 1 : 0, first = digits.find_first_not_of('0', sign);
  return first == std::string::npos ? "0" : (sign ? "-" : "") + digits.substr(first);
}

class JsonComparison {
 public:
  explicit JsonComparison(const TokenRules& rules) : rules_(rules) {}

  bool is_same(const ::json::Value& a, const ::json::Value& b) const {
    using Kind = ::json::Value::Kind;
    const auto numeric = [](const ::json::Value& value) {
      return value.kind == Kind::number || value.kind == Kind::boolean;
    };
    if (numeric(a) && numeric(b)) return is_same_number(a, b);
    if (a.kind != b.kind) return false;
    switch (a.kind) {
      case Kind::text: return a.text == b.text;
      case Kind::list: return is_same_list(a, b);
      case Kind::object: return is_same_object(a, b);
      default: return true;
    }
  }

 private:
  // Compares exactly, like Python: numbers that are written as whole numbers are not rounded to floats. The tolerance
  // does not apply to two of these.
  bool is_same_number(const ::json::Value& a, const ::json::Value& b) const {
    const bool ours = is_written_whole(a), theirs = is_written_whole(b);
    if (ours || theirs ? format_whole_number(a) == format_whole_number(b) : a.number == b.number) return true;
    const bool floats = std::isfinite(a.number) && std::isfinite(b.number) && !(ours && theirs);
    return floats && rules_.has_tolerance() && is_close(a.number, b.number);
  }

  // Compares as Python's floats.
  bool is_close(double ours, double theirs) const {
    const double difference = std::fabs(ours - theirs);
    const auto absolute = static_cast<double>(rules_.absolute), relative = static_cast<double>(rules_.relative);
    return difference <= absolute || difference <= relative * std::fabs(theirs);
  }

  bool is_same_list(const ::json::Value& a, const ::json::Value& b) const {
    const auto same_item = [this](const auto& x, const auto& y) { return is_same(x, y); };
    return a.list.size() == b.list.size() && std::equal(a.list.begin(), a.list.end(), b.list.begin(), same_item);
  }

  bool is_same_object(const ::json::Value& a, const ::json::Value& b) const {
    const auto same_field = [this](const auto& x, const auto& y) {
      return x.first == y.first && is_same(x.second, y.second);
    };
    return a.object.size() == b.object.size() &&
        std::equal(a.object.begin(), a.object.end(), b.object.begin(), same_field);
  }

  TokenRules rules_;
};

size_t count_values(const ::json::Value& value) {
  size_t count = 1;
  for (const ::json::Value& item : value.list) count += count_values(item);
  for (const auto& field : value.object) count += count_values(field.second);
  return count;
}

bool is_same_json(int output_fd, int answer_fd, const TokenRules& rules, bool may_be_wrapped) {
  if (matches_stripped(output_fd, answer_fd, rules)) return true;
  if (files::size_bytes(output_fd) > static_cast<int64_t>(max_json_bytes)) return false;
  const ::json::Value expected = ::json::parse(files::read_all(answer_fd, max_json_bytes), max_json_depth);
  try {
    // A value with more parts than the answer is not equal and is not read to its end: a list of millions would fill
    // our memory.
    const ::json::Value value =
        ::json::parse(files::read_all(output_fd, max_json_bytes), max_json_depth, count_values(expected));
    const JsonComparison values(rules);
    return values.is_same(value, expected) ||
        (may_be_wrapped && expected.list.size() == 1 && values.is_same(value, expected.list[0]));
  } catch (const sys::Failure&) {
    return false;  // the submission's result is not JSON
  }
}

}  // namespace

bool TokenRules::is_close(long double ours, long double theirs) const {
  const long double difference = std::fabs(ours - theirs);
  // Division, because a quotient is rounded like the tolerance, and a product is not.
  return difference == 0 || difference <= absolute || difference / std::fabs(theirs) <= relative;
}

bool matches_exact(int output_fd, int answer_fd, const TokenRules&) {
  ByteReader ours(output_fd), theirs(answer_fd);
  for (;;) {
    const int a = ours.read_next();
    if (a != theirs.read_next()) return false;
    if (a == ByteReader::end) return true;
  }
}

bool matches_tokens(int output_fd, int answer_fd, const TokenRules& rules) {
  Words ours(output_fd, rules.space_sensitive), theirs(answer_fd, rules.space_sensitive);
  for (;;) {
    const std::string a = ours.read_next(), b = theirs.read_next();
    if (a.empty() || b.empty()) return a.empty() && b.empty();
    if (!is_same_word(a, b, rules)) return false;
  }
}

bool matches_white_diff(int output_fd, int answer_fd, const TokenRules&) {
  return has_same_symbols(Symbols(output_fd), Symbols(answer_fd));
}

bool matches_word_lines(int output_fd, int answer_fd, const TokenRules&) {
  return has_same_symbols(Symbols(output_fd, false), Symbols(answer_fd, false));
}

bool matches_stripped(int output_fd, int answer_fd, const TokenRules&) {
  const Span a = find_stripped_span(output_fd), b = find_stripped_span(answer_fd);
  if (a.to - a.from != b.to - b.from) return false;
  ByteReader ours(output_fd, a.from), theirs(answer_fd, b.from);
  for (int64_t remaining = a.to - a.from; remaining > 0; --remaining)
    if (ours.read_next() != theirs.read_next()) return false;
  return true;
}

bool matches_lines(int output_fd, int answer_fd, const TokenRules&) {
  return has_same_line_items(output_fd, answer_fd, true);
}

bool matches_stripped_lines(int output_fd, int answer_fd, const TokenRules&) {
  return has_same_line_items(output_fd, answer_fd, false);
}

bool matches_float_lines(int output_fd, int answer_fd, const TokenRules&) {
  return has_same_lines(output_fd, answer_fd, is_same_line) || has_same_lines(output_fd, answer_fd, are_close_floats);
}

bool matches_apps(int output_fd, int answer_fd, const TokenRules&) {
  return meets_any_criterion(output_fd, answer_fd, false);
}

bool matches_prime_code(int output_fd, int answer_fd, const TokenRules&) {
  return meets_any_criterion(output_fd, answer_fd, true);
}

bool matches_json(int output_fd, int answer_fd, const TokenRules& rules) {
  return is_same_json(output_fd, answer_fd, rules, false);
}

bool matches_json_wrapped(int output_fd, int answer_fd, const TokenRules& rules) {
  return is_same_json(output_fd, answer_fd, rules, true);
}

Comparison find_comparison(const std::string& name) {
  static const std::map<std::string, Comparison> comparisons = {
      {"apps", matches_apps},
      {"exact", matches_exact},
      {"float-lines", matches_float_lines},
      {"json", matches_json},
      {"json-wrapped", matches_json_wrapped},
      {"lines", matches_lines},
      {"prime-code", matches_prime_code},
      {"stripped", matches_stripped},
      {"stripped-lines", matches_stripped_lines},
      {"tokens", matches_tokens},
      {"white-diff", matches_white_diff},
      {"word-lines", matches_word_lines},
  };
  const auto found = comparisons.find(name);
  return found == comparisons.end() ? nullptr : found->second;
}

}  // namespace compare
