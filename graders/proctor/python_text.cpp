#include "python_text.hpp"

#include <cmath>
#include <cstdlib>

namespace compare {
namespace {

int continuation_count(int first_byte) {
  return first_byte >= 0xF0 ? 3 : first_byte >= 0xE0 ? 2 : first_byte >= 0xC0 ? 1 : 0;
}

bool is_continuation(int byte) { return byte != ByteReader::end && (byte & 0xC0) == 0x80; }

// Returns whether Python's str.splitlines() ends a line at a character. \r
// is handled by the caller.
bool is_line_break(int32_t c) {
  return (c >= '\n' && c <= '\r') || (c >= 0x1C && c <= 0x1E) || c == 0x85 || c == 0x2028 || c == 0x2029;
}

bool is_white(int32_t c) {
  return is_strippable(c) || is_line_break(c) || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x202F ||
      c == 0x205F || c == 0x3000;
}

// Returns the character at an offset of a text, and sets `next` to the offset after it.
int32_t character_at(const std::string& text, size_t offset, size_t& next) {
  const auto byte = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : ByteReader::end; };
  const int first_byte = byte(offset), continuations = continuation_count(first_byte);
  int32_t code = continuations == 0 ? first_byte : first_byte & (0x3F >> continuations);
  for (next = offset + 1; next <= offset + continuations && is_continuation(byte(next)); ++next)
    code = code << 6 | (byte(next) & 0x3F);
  return code;
}

// Returns whether float() strips a character. Of ASCII, it strips less than str.strip().
bool is_white_to_float(int32_t c) { return is_white(c) && (c < 0x1C || c > 0x1F); }

std::string strip_where(bool (*is_removed)(int32_t), const std::string& text, bool left = true, bool right = true) {
  size_t start = text.size(), end = 0, next;
  for (size_t offset = 0; offset < text.size(); offset = next) {
    if (is_removed(character_at(text, offset, next))) continue;
    if (start == text.size()) start = offset;
    end = next;
  }
  start = left ? start : 0, end = right ? end : text.size();
  return start < end ? text.substr(start, end - start) : "";
}

class FloatReader {
 public:
  explicit FloatReader(const std::string& word) : word_(word) {}

  bool read(double& value) {
    if (!read_name() && !read_decimal()) return false;
    value = std::strtod(c_number_.c_str(), nullptr);
    return true;
  }

 private:
  static bool is_digit(char c) { return c >= '0' && c <= '9'; }
  char at(size_t i) const { return i < word_.size() ? word_[i] : '\0'; }
  void copy_character() { c_number_ += word_[position_++]; }

  void read_sign() {
    if (at(position_) == '-' || at(position_) == '+') copy_character();
  }

  bool read_name() {
    read_sign();
    std::string name;
    for (size_t i = position_; i < word_.size() && name.size() < 9; ++i) name += static_cast<char>(word_[i] | 0x20);
    if (name != "inf" && name != "infinity" && name != "nan") return false;
    c_number_ += name;
    return name.size() == word_.size() - position_;
  }

  bool read_digits() {
    const size_t start = position_;
    for (; is_digit(at(position_)) ||
        (position_ > start && at(position_) == '_' && is_digit(at(position_ - 1)) && is_digit(at(position_ + 1)));
        ++position_)
      if (word_[position_] != '_') c_number_ += word_[position_];
    return position_ > start;
  }

  bool read_decimal() {
    bool has_digits = read_digits();
    if (at(position_) == '.') copy_character(), has_digits = read_digits() || has_digits;
    if (!has_digits) return false;
    if (at(position_) == 'e' || at(position_) == 'E') {
      copy_character(), read_sign();
      if (!read_digits()) return false;
    }
    return position_ == word_.size();
  }

  const std::string& word_;
  std::string c_number_;
  size_t position_ = 0;
};

}  // namespace

bool Lines::read_next(std::string& line) {
  line.clear();
  if (next_byte_ == ByteReader::end) return false;
  Character character;
  for (character = take_character(); !is_at_line_end(character); character = take_character()) line += character.raw;
  if (ends_ == Ends::python && character.code == '\r' && next_byte_ == '\n') take_character();
  return true;
}

bool Lines::is_at_line_end(const Character& character) const {
  if (character.code == ByteReader::end) return true;
  return ends_ == Ends::python ? is_line_break(character.code) : character.code == '\n';
}

Lines::Character Lines::take_character() {
  Character character;
  if (next_byte_ == ByteReader::end) return character;
  int continuations = continuation_count(next_byte_);
  character.code = continuations == 0 ? next_byte_ : next_byte_ & (0x3F >> continuations);
  character.raw += static_cast<char>(next_byte_);
  for (next_byte_ = bytes_.read_next(); continuations > 0 && is_continuation(next_byte_);
      --continuations, next_byte_ = bytes_.read_next()) {
    character.code = character.code << 6 | (next_byte_ & 0x3F);
    character.raw += static_cast<char>(next_byte_);
  }
  return character;
}

std::string strip(const std::string& text, bool left, bool right) { return strip_where(is_white, text, left, right); }

std::string PythonWords::read_next() {
  std::string word;
  for (size_t next; position_ < text_.size(); position_ = next) {
    if (!is_white(character_at(text_, position_, next)))
      word.append(text_, position_, next - position_);
    else if (!word.empty())
      break;
  }
  return word;
}

bool read_float(const std::string& word, double& value) {
  return FloatReader(strip_where(is_white_to_float, word)).read(value);
}

bool are_close_floats(const std::string& ours, const std::string& theirs) {
  constexpr double absolute = 1e-8, relative = 1e-5;
  double a, b;
  if (!read_float(ours, a) || !read_float(theirs, b)) return false;
  return a == b || (std::isfinite(b) && std::fabs(a - b) <= absolute + relative * std::fabs(b));
}

}  // namespace compare
