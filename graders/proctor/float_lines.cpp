#include "compare.hpp"

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "bytes.hpp"

namespace compare {
namespace {

// The characters of a file in UTF-8; a byte that begins none stands for itself.
class Characters {
 public:
  explicit Characters(int fd) : bytes_(fd), ahead_(bytes_.next()) {}

  struct Character {
    int32_t code = Bytes::end;
    std::string raw;
  };

  Character next() {
    Character found;
    if (ahead_ == Bytes::end) return found;
    const int first = take(found);
    const int more = first >= 0xF0 ? 3 : first >= 0xE0 ? 2 : first >= 0xC0 ? 1 : 0;
    found.code = more == 0 ? first : first & (0x3F >> more);
    for (int left = more; left > 0 && ahead_ != Bytes::end && (ahead_ & 0xC0) == 0x80; --left) found.code = found.code << 6 | (take(found) & 0x3F);
    return found;
  }

 private:
  int take(Character& found) {
    const int byte = ahead_;
    found.raw += static_cast<char>(byte);
    ahead_ = bytes_.next();
    return byte;
  }

  Bytes bytes_;
  int ahead_;
};

// What Python's str.splitlines() ends a line at, besides \r\n.
bool ends_line(int32_t c) { return (c >= '\n' && c <= '\r') || (c >= 0x1C && c <= 0x1E) || c == 0x85 || c == 0x2028 || c == 0x2029; }

// What Python's str.strip() takes away.
bool is_white(int32_t c) {
  return is_strippable(c) || ends_line(c) || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x202F || c == 0x205F || c == 0x3000;
}

// The lines of a file, white space stripped from both ends of each.
class StrippedLines {
 public:
  explicit StrippedLines(int fd) : characters_(fd), ahead_(characters_.next()) {}

  bool next(std::string& line) {
    std::string gap;
    line.clear();
    if (ahead_.code == Bytes::end) return false;
    for (; ahead_.code != Bytes::end && !ends_line(ahead_.code); ahead_ = characters_.next()) {
      gap += ahead_.raw;
      if (is_white(ahead_.code)) continue;
      line += line.empty() ? ahead_.raw : gap;
      gap.clear();
    }
    const bool carriage_return = ahead_.code == '\r';
    ahead_ = characters_.next();
    if (carriage_return && ahead_.code == '\n') ahead_ = characters_.next();
    return true;
  }

 private:
  Characters characters_;
  Characters::Character ahead_;
};

// What Python's float() reads: no hexadecimal numbers, but underscores between digits.
class Float {
 public:
  explicit Float(const std::string& word) : word_(word) {}

  bool read(double& value) {
    if (!named() && !decimal()) return false;
    value = std::strtod(plain_.c_str(), nullptr);
    return true;
  }

 private:
  static bool is_digit(char c) { return c >= '0' && c <= '9'; }
  char at(size_t i) const { return i < word_.size() ? word_[i] : '\0'; }
  void take() { plain_ += word_[at_++]; }

  void sign() {
    if (at(at_) == '-' || at(at_) == '+') take();
  }

  bool named() {
    sign();
    std::string rest;
    for (size_t i = at_; i < word_.size() && rest.size() < 9; ++i) rest += static_cast<char>(word_[i] | 0x20);
    if (rest != "inf" && rest != "infinity" && rest != "nan") return false;
    plain_ += rest;
    return rest.size() == word_.size() - at_;
  }

  bool digits() {
    const size_t from = at_;
    for (; is_digit(at(at_)) || (at_ > from && at(at_) == '_' && is_digit(at(at_ - 1)) && is_digit(at(at_ + 1))); ++at_)
      if (word_[at_] != '_') plain_ += word_[at_];
    return at_ > from;
  }

  bool decimal() {
    bool any = digits();
    if (at(at_) == '.') take(), any = digits() || any;
    if (!any) return false;
    if (at(at_) == 'e' || at(at_) == 'E') {
      take(), sign();
      if (!digits()) return false;
    }
    return at_ == word_.size();
  }

  const std::string& word_;
  std::string plain_;
  size_t at_ = 0;
};

// As numpy.allclose has it.
bool close(double ours, double theirs) {
  constexpr double absolute = 1e-8, relative = 1e-5;
  return ours == theirs || (std::isfinite(theirs) && std::fabs(ours - theirs) <= absolute + relative * std::fabs(theirs));
}

bool close_floats(const std::string& ours, const std::string& theirs) {
  double a, b;
  return Float(ours).read(a) && Float(theirs).read(b) && close(a, b);
}

// Empty lines at the end of the output do not count, and those of the answer do: so their answer is never met.
bool all_lines(int output, int answer, bool (*same)(const std::string&, const std::string&)) {
  StrippedLines ours(output), theirs(answer);
  std::string a, b;
  bool may_end = true;
  while (theirs.next(b)) {
    if (!ours.next(a) || !same(a, b)) return false;
    may_end = !b.empty();
  }
  while (ours.next(a))
    if (!a.empty()) return false;
  return may_end;
}

}  // namespace

bool float_lines(int output, int answer) {
  const auto equal = [](const std::string& a, const std::string& b) { return a == b; };
  return all_lines(output, answer, equal) || all_lines(output, answer, close_floats);
}

}  // namespace compare
