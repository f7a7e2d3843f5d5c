#include "python_text.hpp"

#include <cmath>
#include <cstdlib>

namespace compare {
namespace {

int bytes_behind(int first) { return first >= 0xF0 ? 3 : first >= 0xE0 ? 2 : first >= 0xC0 ? 1 : 0; }

bool goes_on(int byte) { return byte != Bytes::end && (byte & 0xC0) == 0x80; }

// What Python's str.splitlines() ends a line at, besides \r\n.
bool ends_line(int32_t c) {
  return (c >= '\n' && c <= '\r') || (c >= 0x1C && c <= 0x1E) || c == 0x85 || c == 0x2028 || c == 0x2029;
}

bool is_white(int32_t c) {
  return is_strippable(c) || ends_line(c) || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x202F ||
      c == 0x205F || c == 0x3000;
}

// The character at a place of a text, and in `next` where the one behind it is.
int32_t character_at(const std::string& text, size_t at, size_t& next) {
  const auto byte = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : Bytes::end; };
  const int first = byte(at), more = bytes_behind(first);
  int32_t code = more == 0 ? first : first & (0x3F >> more);
  for (next = at + 1; next <= at + more && goes_on(byte(next)); ++next) code = code << 6 | (byte(next) & 0x3F);
  return code;
}

// What float() takes off a number: of ASCII less than strip().
bool is_white_to_float(int32_t c) { return is_white(c) && (c < 0x1C || c > 0x1F); }

std::string without(bool (*white)(int32_t), const std::string& text, bool left = true, bool right = true) {
  size_t from = text.size(), to = 0, next;
  for (size_t at = 0; at < text.size(); at = next) {
    if (white(character_at(text, at, next))) continue;
    if (from == text.size()) from = at;
    to = next;
  }
  from = left ? from : 0, to = right ? to : text.size();
  return from < to ? text.substr(from, to - from) : "";
}

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

}  // namespace

bool Lines::next(std::string& line) {
  line.clear();
  if (ahead_ == Bytes::end) return false;
  Character character;
  for (character = take(); !at_end_of_line(character); character = take()) line += character.raw;
  if (ends_ == Ends::python && character.code == '\r' && ahead_ == '\n') take();
  return true;
}

bool Lines::at_end_of_line(const Character& character) const {
  if (character.code == Bytes::end) return true;
  return ends_ == Ends::python ? ends_line(character.code) : character.code == '\n';
}

Lines::Character Lines::take() {
  Character found;
  if (ahead_ == Bytes::end) return found;
  int left = bytes_behind(ahead_);
  found.code = left == 0 ? ahead_ : ahead_ & (0x3F >> left);
  found.raw += static_cast<char>(ahead_);
  for (ahead_ = bytes_.next(); left > 0 && goes_on(ahead_); --left, ahead_ = bytes_.next()) {
    found.code = found.code << 6 | (ahead_ & 0x3F);
    found.raw += static_cast<char>(ahead_);
  }
  return found;
}

std::string strip(const std::string& text, bool left, bool right) { return without(is_white, text, left, right); }

std::string PythonWords::next() {
  std::string word;
  for (size_t next; at_ < text_.size(); at_ = next) {
    if (!is_white(character_at(text_, at_, next))) word.append(text_, at_, next - at_);
    else if (!word.empty()) break;
  }
  return word;
}

bool read_float(const std::string& word, double& value) { return Float(without(is_white_to_float, word)).read(value); }

bool close_floats(const std::string& ours, const std::string& theirs) {
  constexpr double absolute = 1e-8, relative = 1e-5;
  double a, b;
  if (!read_float(ours, a) || !read_float(theirs, b)) return false;
  return a == b || (std::isfinite(b) && std::fabs(a - b) <= absolute + relative * std::fabs(b));
}

}  // namespace compare
