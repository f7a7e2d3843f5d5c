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

// --- comparisons by normalized bytes -----------------------------------------------------------------------------

bool is_blank(int c) { return c == ' ' || c == '\t' || c == '\v' || c == '\f' || c == '\r'; }

// Reads the normalized bytes of a file: the visible bytes, and a single blank or newline for the white space between
// them. Two files are equal for the white diff if their normalized bytes are. Without `keeps_blank_lines`, a carriage
// return is a line break, too.
class NormalizedByteReader {
 public:
  explicit NormalizedByteReader(int fd, bool keeps_blank_lines = true)
      : bytes_(fd), keeps_blank_lines_(keeps_blank_lines) {}

  int read_normalized_byte() {
    if (pending_newlines_ > 0) return --pending_newlines_, '\n';
    if (pending_byte_ != no_byte) return take_stored_byte();
    bool blank = false;
    for (;;) {
      const int c = bytes_.read_byte();
      if (c == ByteReader::end) return c;
      if (c == '\n' || (c == '\r' && !keeps_blank_lines_)) {
        ++line_breaks_, blank = false, has_line_started_ = false;
      } else if (is_blank(c)) {
        blank = true;
      } else {
        return find_separator_before(c, blank && has_line_started_);
      }
    }
  }

 private:
  static constexpr int no_byte = -2;

  // Returns the blank or newline before a visible byte and stores the byte. Without white space, returns the byte.
  int find_separator_before(int visible_byte, bool has_space_before) {
    has_line_started_ = true;
    const bool is_first = !std::exchange(has_visible_byte_, true);
    if (!keeps_blank_lines_) line_breaks_ = is_first ? 0 : std::min<int64_t>(line_breaks_, 1);
    if (line_breaks_ == 0 && !has_space_before) return visible_byte;
    pending_byte_ = visible_byte;
    if (line_breaks_ == 0) return ' ';
    pending_newlines_ = line_breaks_ - 1;
    line_breaks_ = 0;
    return '\n';
  }

  int take_stored_byte() {
    const int c = pending_byte_;
    pending_byte_ = no_byte;
    return c;
  }

  ByteReader bytes_;
  bool keeps_blank_lines_, has_visible_byte_ = false;
  // Line breaks since the last visible byte, and newlines that `read_normalized_byte` still has to return
  int64_t line_breaks_ = 0, pending_newlines_ = 0;
  int pending_byte_ = no_byte;
  bool has_line_started_ = false;
};

bool has_same_normalized_bytes(NormalizedByteReader actual, NormalizedByteReader expected) {
  for (;;) {
    const int actual_byte = actual.read_normalized_byte(), expected_byte = expected.read_normalized_byte();
    if (actual_byte != expected_byte) return false;
    if (actual_byte == ByteReader::end) return true;
  }
}

// A part of a file: `end` is the offset after its last byte.
struct ByteRange {
  int64_t start = 0, end = 0;
};

// Returns the range of a file without leading and trailing white space.
ByteRange find_stripped_range(int fd) {
  ByteRange range;
  bool has_started = false;
  ByteReader bytes(fd);
  int64_t position = 0;
  for (int c; (c = bytes.read_byte()) != ByteReader::end; ++position) {
    if (is_python_space(c)) continue;
    if (!has_started) range.start = position;
    has_started = true;
    range.end = position + 1;
  }
  return range;
}

// --- comparisons by tokens ----------------------------------------------------------------------------------------

// Reads the tokens of a file, and with `keeps_spaces` the runs of white space between them.
class TokenReader {
 public:
  TokenReader(int fd, bool keeps_spaces) : bytes_(fd), keeps_spaces_(keeps_spaces), next_byte_(bytes_.read_byte()) {}

  // Returns an empty string if the file has no more tokens.
  std::string read_token() {
    std::string token;
    if (keeps_spaces_ && is_space(next_byte_)) {
      append_byte_run(token, true);
      return token;
    }
    while (is_space(next_byte_)) next_byte_ = bytes_.read_byte();
    append_byte_run(token, false);
    return token;
  }

 private:
  static bool is_space(int c) { return c == '\n' || is_blank(c); }

  // Appends the next run of white space, or of other bytes.
  void append_byte_run(std::string& token, bool takes_spaces) {
    for (; next_byte_ != ByteReader::end && is_space(next_byte_) == takes_spaces; next_byte_ = bytes_.read_byte())
      token += static_cast<char>(next_byte_);
  }

  ByteReader bytes_;
  bool keeps_spaces_;
  int next_byte_;
};

bool parse_number(const std::string& token, long double& number) {
  char* end = nullptr;
  number = std::strtold(token.c_str(), &end);
  return !token.empty() && end == token.c_str() + token.size() && std::isfinite(number);
}

bool is_same_token(const std::string& actual, const std::string& expected, const TokenRules& rules) {
  long double a, b;
  if (rules.has_tolerance() && parse_number(expected, b)) return parse_number(actual, a) && rules.is_close(a, b);
  if (rules.case_sensitive) return actual == expected;
  const auto is_same_letter = [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); };
  return std::equal(actual.begin(), actual.end(), expected.begin(), expected.end(), is_same_letter);
}

// --- comparisons by lines and their tokens ------------------------------------------------------------------------

bool is_decimal_digit(char c) { return c >= '0' && c <= '9'; }

// A token, a line break, or the end of the file. Leading and trailing white space of the file and of lines is skipped.
struct TokenOrLineEnd {
  enum class Kind { token, line_end, file_end };

  Kind kind = Kind::file_end;
  std::string space_before, text;  // a token, and the white space before it on its line
};

// Reads the tokens and line breaks of a file.
class LineTokenReader {
 public:
  explicit LineTokenReader(int fd) : bytes_(fd), next_byte_(bytes_.read_byte()) {}

  TokenOrLineEnd read_token_or_line_end() {
    std::string space_before;
    if (line_ends_ == 0) space_before = read_space_run();
    if (line_ends_ > 0) return --line_ends_, TokenOrLineEnd{TokenOrLineEnd::Kind::line_end, "", ""};
    if (next_byte_ == ByteReader::end) return {};
    has_tokens_ = true;
    return {TokenOrLineEnd::Kind::token, space_before, read_token()};
  }

 private:
  // Skips and returns the white space before the next token of this line. Adds skipped line breaks to `line_ends_`.
  std::string read_space_run() {
    if (is_at_line_start_) return is_at_line_start_ = false, "";
    std::string space_before;
    for (; is_python_space(next_byte_); next_byte_ = bytes_.read_byte()) {
      space_before += static_cast<char>(next_byte_);
      if (next_byte_ == '\n') ++line_ends_;
    }
    if (next_byte_ == ByteReader::end || !has_tokens_) return line_ends_ = 0, "";
    is_at_line_start_ = line_ends_ > 0;
    return space_before;
  }

  std::string read_token() {
    std::string text;
    for (; next_byte_ != ByteReader::end && !is_python_space(next_byte_); next_byte_ = bytes_.read_byte())
      text += static_cast<char>(next_byte_);
    return text;
  }

  ByteReader bytes_;
  int next_byte_;
  int64_t line_ends_ = 0;          // line breaks that `read_token_or_line_end` still has to return
  bool is_at_line_start_ = false;  // whether the next token is the first of its line
  bool has_tokens_ = false;
};

// A decimal number: its digits without leading and trailing zeros, and the exponent. Not `is_valid` if the token is not
// a number.
struct Decimal {
  bool is_valid = false, is_negative = false;
  std::string digits;
  int64_t exponent = 0;

  bool operator==(const Decimal& other) const {
    return is_valid && other.is_valid && digits == other.digits &&
        (digits.empty() || (is_negative == other.is_negative && exponent == other.exponent));
  }
};

// Parses a token as a decimal number.
class DecimalParser {
 public:
  explicit DecimalParser(const std::string& token) : token_(token) {}

  Decimal parse_decimal() {
    Decimal number;
    number.is_negative = read_is_negative();
    read_digits(number, false);
    if (skip_if_next('.')) read_digits(number, true);
    number.is_valid = has_digits_ && read_exponent(number) && position_ == token_.size();
    trim_zeros(number);
    return number;
  }

 private:
  static constexpr size_t max_exponent_digits = 17;

  // Skips a letter if it is next. Returns whether it was.
  bool skip_if_next(char letter) {
    return position_ < token_.size() && token_[position_] == letter ? ++position_, true : false;
  }

  // Skips the sign, if any, and returns whether it is a minus.
  bool read_is_negative() { return skip_if_next('-') || (skip_if_next('+'), false); }

  void read_digits(Decimal& number, bool is_after_point) {
    for (; position_ < token_.size() && is_decimal_digit(token_[position_]); ++position_, has_digits_ = true) {
      number.digits += token_[position_];
      if (is_after_point) --number.exponent;
    }
  }

  bool read_exponent(Decimal& number) {
    if (!skip_if_next('e') && !skip_if_next('E')) return true;
    const bool is_negative = read_is_negative();
    const size_t start = position_;
    int64_t value = 0;
    for (; position_ < token_.size() && is_decimal_digit(token_[position_]) && position_ - start < max_exponent_digits;
         ++position_)
      value = value * 10 + (token_[position_] - '0');
    number.exponent += is_negative ? -value : value;
    return position_ > start;
  }

  static void trim_zeros(Decimal& number) {
    number.digits.erase(0, number.digits.find_first_not_of('0'));  // erases all digits if all are zeros
    while (!number.digits.empty() && number.digits.back() == '0') number.digits.pop_back(), ++number.exponent;
  }

  const std::string& token_;
  size_t position_ = 0;
  bool has_digits_ = false;
};

bool is_same_decimal(const std::string& a, const std::string& b) {
  return DecimalParser(a).parse_decimal() == DecimalParser(b).parse_decimal();
}

bool has_same_line_tokens(int output_fd, int answer_fd, bool compares_numbers) {
  LineTokenReader actual(output_fd), expected(answer_fd);
  bool is_equal = true, has_equal_numbers = compares_numbers;  // results for the tokens of the current line so far
  for (;;) {
    const TokenOrLineEnd actual_part = actual.read_token_or_line_end(),
                         expected_part = expected.read_token_or_line_end();
    if (actual_part.kind != expected_part.kind) return false;
    if (actual_part.kind == TokenOrLineEnd::Kind::file_end) return true;
    if (actual_part.kind == TokenOrLineEnd::Kind::line_end) {
      is_equal = true, has_equal_numbers = compares_numbers;
      continue;
    }
    is_equal =
        is_equal && actual_part.space_before == expected_part.space_before && actual_part.text == expected_part.text;
    has_equal_numbers = has_equal_numbers && is_same_decimal(actual_part.text, expected_part.text);
    if (!is_equal && !has_equal_numbers) return false;
  }
}

// --- comparisons by lines as Python splits them ------------------------------------------------------------------

using LineComparison = bool (*)(const std::string& actual, const std::string& expected);

bool is_same_line(const std::string& actual, const std::string& expected) { return actual == expected; }

// Compares line by line. Trailing empty lines of the output are ignored, but trailing empty lines of the answer are
// not. So an answer whose last line is empty never matches.
bool has_same_lines(int output_fd, int answer_fd, LineComparison compare_lines) {
  LineReader actual(output_fd, LineReader::LineEnds::python), expected(answer_fd, LineReader::LineEnds::python);
  std::string actual_line, expected_line;
  bool is_end_allowed = true;
  while (expected.read_line(expected_line)) {
    expected_line = strip(expected_line);
    if (!actual.read_line(actual_line) || !compare_lines(strip(actual_line), expected_line)) return false;
    is_end_allowed = !expected_line.empty();
  }
  while (actual.read_line(actual_line))
    if (!strip(actual_line).empty()) return false;
  return is_end_allowed;
}

// --- like the harness of APPS and verl's prime_code: any criterion accepts the output -----------------

using Strings = std::vector<std::string>;

// A criterion for accepting an output. It receives the lines of the output in turn and does not store them, so that
// only the answer is in memory.
class OutputCriterion {
 public:
  virtual ~OutputCriterion() = default;

  // Compares the next line of the output. Returns false if the output can no longer be accepted.
  virtual bool compare_next_line(const std::string& line) = 0;

  // Returns whether an output that consists of the lines compared so far is accepted.
  virtual bool is_output_accepted() const = 0;
};

// Accepts an output that equals the answer after leading and trailing white space is stripped, of the whole output, and
// with `strips_lines` of each of its lines.
class WholeFileCriterion : public OutputCriterion {
 public:
  WholeFileCriterion(const Strings& answer, bool strips_lines) : strips_lines_(strips_lines) {
    const auto visible = [](const std::string& line) { return !strip(line).empty(); };
    const auto first = std::find_if(answer.begin(), answer.end(), visible);
    expected_.assign(first, std::find_if(answer.rbegin(), std::make_reverse_iterator(first), visible).base());
    if (expected_.empty()) return;
    expected_.front() = strip(expected_.front(), true, false);
    expected_.back() = strip(expected_.back(), false, true);
  }

  bool compare_next_line(const std::string& line) override {
    const std::string stripped_line = strip(line);
    if (stripped_line.empty()) return compare_blank_line(line);
    position_ += blank_lines_, blank_lines_ = 0;
    if (!do_blank_lines_match_ || position_ >= expected_.size()) return false;
    const std::string& actual =
        strips_lines_ ? stripped_line : strip(line, position_ == 0, position_ + 1 == expected_.size());
    return actual == expected_[position_++];
  }

  bool is_output_accepted() const override { return position_ == expected_.size(); }

 private:
  // Blank lines count only between visible lines.
  bool compare_blank_line(const std::string& line) {
    if (position_ == 0) return true;
    const size_t index = position_ + blank_lines_++;
    do_blank_lines_match_ =
        do_blank_lines_match_ && index < expected_.size() && expected_[index] == (strips_lines_ ? "" : line);
    return true;
  }

  bool strips_lines_;
  Strings expected_;
  size_t position_ = 0, blank_lines_ = 0;
  bool do_blank_lines_match_ = true;
};

// Accepts an output whose lines equal the answer's lines. With `skips_empty_lines`, empty lines of the output are
// ignored.
class LineCriterion : public OutputCriterion {
 public:
  LineCriterion(const Strings& expected, bool skips_empty_lines, LineComparison compare_lines)
      : expected_(expected), skips_empty_lines_(skips_empty_lines), compare_lines_(compare_lines) {}

  bool compare_next_line(const std::string& line) override {
    if (skips_empty_lines_ && line.empty()) return true;
    return position_ < expected_.size() && compare_lines_(line, expected_[position_++]);
  }

  bool is_output_accepted() const override { return position_ == expected_.size(); }

 private:
  const Strings& expected_;
  bool skips_empty_lines_;
  LineComparison compare_lines_;
  size_t position_ = 0;
};

// Accepts an output whose lines equal the answer's lines as floats. If all lines of both files consist of digits, the
// output is rejected, because large whole numbers lose digits as floats.
class FloatLineCriterion : public LineCriterion {
 public:
  explicit FloatLineCriterion(const Strings& expected) : LineCriterion(expected, true, are_close_floats) {
    are_all_whole_ = std::all_of(expected.begin(), expected.end(), is_digits);
  }

  bool compare_next_line(const std::string& line) override {
    are_all_whole_ = are_all_whole_ && (line.empty() || is_digits(line));
    return LineCriterion::compare_next_line(line);
  }

  bool is_output_accepted() const override { return !are_all_whole_ && LineCriterion::is_output_accepted(); }

 private:
  static bool is_digits(const std::string& line) {
    return !line.empty() && line.find_first_not_of("0123456789") == std::string::npos;
  }

  bool are_all_whole_;
};

// A function that normalizes a token. It returns false if the token cannot be normalized.
using TokenNormalizer = bool (*)(std::string& token);

// Accepts an output with the same lines as the answer. Order and repetition of lines, and of tokens in a line, do not
// matter.
class TokenSetCriterion : public OutputCriterion {
 public:
  TokenSetCriterion(const Strings& expected, TokenNormalizer normalize) : normalize_token_(normalize) {
    for (const std::string& line : expected) {
      std::set<std::string> tokens;
      is_answer_valid_ = is_answer_valid_ && try_read_tokens(line, tokens, nullptr);
      answer_tokens_.insert(tokens.begin(), tokens.end());
      is_line_seen_[tokens] = false;
    }
  }

  bool compare_next_line(const std::string& line) override {
    std::set<std::string> tokens;
    if (!is_answer_valid_ || !try_read_tokens(line, tokens, &answer_tokens_)) return false;
    if (tokens.empty()) return true;
    const auto expected_line = is_line_seen_.find(tokens);
    if (expected_line == is_line_seen_.end()) return false;
    expected_line->second = true;
    return true;
  }

  bool is_output_accepted() const override {
    return is_answer_valid_ &&
        std::all_of(is_line_seen_.begin(), is_line_seen_.end(), [](const auto& line) { return line.second; });
  }

 private:
  // With `allowed_tokens`, stops at any other token: a line with millions of tokens would fill the proctor's memory.
  bool try_read_tokens(
      const std::string& line, std::set<std::string>& tokens, const std::set<std::string>* allowed_tokens) const {
    PythonStringSplitter line_tokens(line);
    for (std::string token = line_tokens.read_token(); !token.empty(); token = line_tokens.read_token()) {
      if (!normalize_token_(token) || (allowed_tokens && !allowed_tokens->count(token))) return false;
      tokens.insert(token);
    }
    return true;
  }

  TokenNormalizer normalize_token_;
  bool is_answer_valid_ = true;
  std::set<std::string> answer_tokens_;
  std::map<std::set<std::string>, bool> is_line_seen_;
};

// Rounds the number in a token to three decimal places. Returns false for NaN, because it does not equal itself.
bool try_round_number(std::string& token) {
  double value;
  if (!parse_python_float(token, value) || std::isnan(value)) return false;
  char text[400];
  std::snprintf(text, sizeof text, "%.3f", value);
  token = std::string(text) == "-0.000" ? "0.000" : text;
  return true;
}

Strings read_lines(int answer_fd) {
  Strings strings;
  LineReader lines(answer_fd, LineReader::LineEnds::newline);
  for (std::string line; lines.read_line(line);) strings.push_back(line);
  return strings;
}

bool is_accepted_by_any_criterion(int output_fd, int answer_fd, bool uses_prime_code_rules) {
  const TokenNormalizer unchanged = [](std::string&) { return true; };
  const Strings raw_lines = read_lines(answer_fd);
  Strings expected;
  for (const std::string& line : raw_lines)
    if (!line.empty()) expected.push_back(strip(line));

  std::vector<std::unique_ptr<OutputCriterion>> criteria;
  for (const bool strips_lines : {false, true})
    criteria.push_back(std::make_unique<WholeFileCriterion>(raw_lines, strips_lines));
  for (const bool skips_empty_lines : {false, true})
    criteria.push_back(std::make_unique<LineCriterion>(expected, skips_empty_lines, is_same_line));
  if (uses_prime_code_rules) {
    criteria.push_back(std::make_unique<FloatLineCriterion>(expected));
  } else {
    criteria.push_back(std::make_unique<LineCriterion>(expected, true, are_close_floats));
    for (const TokenNormalizer normalize : {unchanged, TokenNormalizer(try_round_number)})
      criteria.push_back(std::make_unique<TokenSetCriterion>(expected, normalize));
  }

  LineReader actual(output_fd, LineReader::LineEnds::python);
  for (std::string line; !criteria.empty() && actual.read_line(line);)
    criteria.erase(std::remove_if(criteria.begin(), criteria.end(),
                       [&](const auto& criterion) { return !criterion->compare_next_line(line); }),
        criteria.end());
  return std::any_of(
      criteria.begin(), criteria.end(), [](const auto& criterion) { return criterion->is_output_accepted(); });
}

// --- comparisons by JSON values ----------------------------------------------------------------------------------

constexpr size_t max_json_bytes = 16 << 20;
constexpr int max_json_depth = 500;

// Returns whether a number is written without a fraction and an exponent.
bool is_written_as_integer(const ::json::Value& value) {
  return value.text.find_first_not_of("0123456789", value.text[0] == '-' ? 1 : 0) == std::string::npos;
}

// Returns the digits of a whole number of any length, or an empty string if the number has a fraction.
std::string format_whole_number(const ::json::Value& value) {
  std::string digits = value.text;
  if (!is_written_as_integer(value)) {
    if (value.number != std::floor(value.number)) return "";
    char exact[400];
    std::snprintf(exact, sizeof exact, "%.0f", value.number);
    digits = exact;
  }
  const size_t sign = digits[0] == '-' ? 1 : 0, first = digits.find_first_not_of('0', sign);
  return first == std::string::npos ? "0" : (sign ? "-" : "") + digits.substr(first);
}

// Compares two JSON values by the token rules.
class JsonComparison {
 public:
  explicit JsonComparison(const TokenRules& rules) : rules_(rules) {}

  bool is_same(const ::json::Value& actual, const ::json::Value& expected) const {
    using Kind = ::json::Value::Kind;
    const auto is_numeric = [](const ::json::Value& value) {
      return value.kind == Kind::number || value.kind == Kind::boolean;
    };
    if (is_numeric(actual) && is_numeric(expected)) return is_same_number(actual, expected);
    if (actual.kind != expected.kind) return false;
    switch (actual.kind) {
      case Kind::text: return actual.text == expected.text;
      case Kind::list: return is_same_list(actual, expected);
      case Kind::object: return is_same_object(actual, expected);
      default: return true;
    }
  }

 private:
  // Compares exactly, like Python: numbers that are written as whole numbers are not rounded to floats. The tolerance
  // does not apply to two of these.
  bool is_same_number(const ::json::Value& actual, const ::json::Value& expected) const {
    const bool is_actual_whole = is_written_as_integer(actual), is_expected_whole = is_written_as_integer(expected);
    if (is_actual_whole || is_expected_whole ? format_whole_number(actual) == format_whole_number(expected)
                                             : actual.number == expected.number)
      return true;
    const bool are_floats =
        std::isfinite(actual.number) && std::isfinite(expected.number) && !(is_actual_whole && is_expected_whole);
    return are_floats && rules_.has_tolerance() && is_close(actual.number, expected.number);
  }

  // Compares as Python's floats.
  bool is_close(double actual, double expected) const {
    const double difference = std::fabs(actual - expected);
    const auto absolute_tolerance = static_cast<double>(rules_.absolute_tolerance),
               relative_tolerance = static_cast<double>(rules_.relative_tolerance);
    return difference <= absolute_tolerance || difference <= relative_tolerance * std::fabs(expected);
  }

  bool is_same_list(const ::json::Value& actual, const ::json::Value& expected) const {
    const auto is_same_item = [this](const auto& x, const auto& y) { return is_same(x, y); };
    return actual.list.size() == expected.list.size() &&
        std::equal(actual.list.begin(), actual.list.end(), expected.list.begin(), is_same_item);
  }

  bool is_same_object(const ::json::Value& actual, const ::json::Value& expected) const {
    const auto is_same_field = [this](const auto& x, const auto& y) {
      return x.first == y.first && is_same(x.second, y.second);
    };
    return actual.object.size() == expected.object.size() &&
        std::equal(actual.object.begin(), actual.object.end(), expected.object.begin(), is_same_field);
  }

  TokenRules rules_;
};

size_t count_values(const ::json::Value& value) {
  size_t count = 1;
  for (const ::json::Value& item : value.list) count += count_values(item);
  for (const auto& field : value.object) count += count_values(field.second);
  return count;
}

bool is_same_json(int output_fd, int answer_fd, const TokenRules& rules, bool may_unwrap_answer_list) {
  if (matches_stripped_file(output_fd, answer_fd, rules)) return true;
  if (files::read_size_bytes(output_fd) > static_cast<int64_t>(max_json_bytes)) return false;
  const ::json::Value expected = ::json::parse(files::read_all(answer_fd, max_json_bytes), max_json_depth);
  try {
    // A value with more parts than the answer is not equal and is not read completely: a list of millions would fill
    // the proctor's memory.
    const ::json::Value value =
        ::json::parse(files::read_all(output_fd, max_json_bytes), max_json_depth, count_values(expected));
    const JsonComparison values(rules);
    return values.is_same(value, expected) ||
        (may_unwrap_answer_list && expected.list.size() == 1 && values.is_same(value, expected.list[0]));
  } catch (const sys::Failure&) {
    return false;  // the submission's result is not JSON
  }
}

}  // namespace

bool TokenRules::is_close(long double actual, long double expected) const {
  const long double difference = std::fabs(actual - expected);
  // Division, because a quotient is rounded like the tolerance, and a product is not.
  return difference == 0 || difference <= absolute_tolerance || difference / std::fabs(expected) <= relative_tolerance;
}

bool matches_exactly(int output_fd, int answer_fd, const TokenRules&) {
  ByteReader actual(output_fd), expected(answer_fd);
  for (;;) {
    const int actual_byte = actual.read_byte();
    if (actual_byte != expected.read_byte()) return false;
    if (actual_byte == ByteReader::end) return true;
  }
}

bool matches_tokens(int output_fd, int answer_fd, const TokenRules& rules) {
  TokenReader actual(output_fd, rules.space_sensitive), expected(answer_fd, rules.space_sensitive);
  for (;;) {
    const std::string actual_token = actual.read_token(), expected_token = expected.read_token();
    if (actual_token.empty() || expected_token.empty()) return actual_token.empty() && expected_token.empty();
    if (!is_same_token(actual_token, expected_token, rules)) return false;
  }
}

bool matches_white_diff(int output_fd, int answer_fd, const TokenRules&) {
  return has_same_normalized_bytes(NormalizedByteReader(output_fd), NormalizedByteReader(answer_fd));
}

bool matches_nonblank_lines(int output_fd, int answer_fd, const TokenRules&) {
  return has_same_normalized_bytes(NormalizedByteReader(output_fd, false), NormalizedByteReader(answer_fd, false));
}

bool matches_stripped_file(int output_fd, int answer_fd, const TokenRules&) {
  const ByteRange actual_range = find_stripped_range(output_fd), expected_range = find_stripped_range(answer_fd);
  if (actual_range.end - actual_range.start != expected_range.end - expected_range.start) return false;
  ByteReader actual(output_fd, actual_range.start), expected(answer_fd, expected_range.start);
  for (int64_t remaining = actual_range.end - actual_range.start; remaining > 0; --remaining)
    if (actual.read_byte() != expected.read_byte()) return false;
  return true;
}

bool matches_lines_or_numbers(int output_fd, int answer_fd, const TokenRules&) {
  return has_same_line_tokens(output_fd, answer_fd, true);
}

bool matches_stripped_lines(int output_fd, int answer_fd, const TokenRules&) {
  return has_same_line_tokens(output_fd, answer_fd, false);
}

bool matches_float_lines(int output_fd, int answer_fd, const TokenRules&) {
  return has_same_lines(output_fd, answer_fd, is_same_line) || has_same_lines(output_fd, answer_fd, are_close_floats);
}

bool matches_by_apps_rules(int output_fd, int answer_fd, const TokenRules&) {
  return is_accepted_by_any_criterion(output_fd, answer_fd, false);
}

bool matches_by_prime_code_rules(int output_fd, int answer_fd, const TokenRules&) {
  return is_accepted_by_any_criterion(output_fd, answer_fd, true);
}

bool matches_json(int output_fd, int answer_fd, const TokenRules& rules) {
  return is_same_json(output_fd, answer_fd, rules, false);
}

bool matches_json_or_wrapped_json(int output_fd, int answer_fd, const TokenRules& rules) {
  return is_same_json(output_fd, answer_fd, rules, true);
}

Comparison find_comparison(const std::string& name) {
  static const std::map<std::string, Comparison> comparisons = {
      {"apps", matches_by_apps_rules},
      {"exact", matches_exactly},
      {"float-lines", matches_float_lines},
      {"json", matches_json},
      {"json-wrapped", matches_json_or_wrapped_json},
      {"lines", matches_lines_or_numbers},
      {"prime-code", matches_by_prime_code_rules},
      {"stripped", matches_stripped_file},
      {"stripped-lines", matches_stripped_lines},
      {"tokens", matches_tokens},
      {"white-diff", matches_white_diff},
      {"word-lines", matches_nonblank_lines},
  };
  const auto found = comparisons.find(name);
  return found == comparisons.end() ? nullptr : found->second;
}

}  // namespace compare
