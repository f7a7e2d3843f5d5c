#include "compare.hpp"

#include <cstdint>
#include <string>

#include "bytes.hpp"

namespace compare {
namespace {

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

bool is_digit(char c) { return c >= '0' && c <= '9'; }

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

class Reader {
 public:
  explicit Reader(const std::string& word) : word_(word) {}

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
    for (; at_ < word_.size() && is_digit(word_[at_]); ++at_, any_ = true) {
      number.digits += word_[at_];
      if (behind_point) --number.exponent;
    }
  }

  bool exponent(Decimal& number) {
    if (!took('e') && !took('E')) return true;
    const bool negative = sign();
    const size_t from = at_;
    int64_t value = 0;
    for (; at_ < word_.size() && is_digit(word_[at_]) && at_ - from < longest_exponent; ++at_)
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

bool same_number(const std::string& a, const std::string& b) { return Reader(a).decimal() == Reader(b).decimal(); }

bool all_lines(int output, int answer, bool numbers) {
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
    equal_numbers = equal_numbers && same_number(a.text, b.text);
    if (!equal && !equal_numbers) return false;
  }
}

}  // namespace

bool lines(int output, int answer) { return all_lines(output, answer, true); }

bool stripped_lines(int output, int answer) { return all_lines(output, answer, false); }

}  // namespace compare
