#include "python_text.hpp"

#include <cmath>
#include <cstdlib>

namespace compare {
namespace {

int count_continuation_bytes(int first_byte) {
  return first_byte >= 0xF0 ? 3 : first_byte >= 0xE0 ? 2 : first_byte >= 0xC0 ? 1 : 0;
}

bool is_continuation_byte(int byte) { return byte != ByteReader::end && (byte & 0xC0) == 0x80; }

// Returns whether Python's str.splitlines() splits lines at a character. The caller handles \r.
bool is_line_break(int32_t c) {
  return (c >= '\n' && c <= '\r') || (c >= 0x1C && c <= 0x1E) || c == 0x85 || c == 0x2028 || c == 0x2029;
}

bool is_white_space(int32_t c) {
  return is_python_space(c) || is_line_break(c) || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) ||
      c == 0x202F || c == 0x205F || c == 0x3000;
}

// Returns the character at an offset of a string, and sets `next_offset` to the offset after it.
int32_t read_character_at(const std::string& text, size_t offset, size_t& next_offset) {
  const auto byte = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : ByteReader::end; };
  const int first_byte = byte(offset), continuations = count_continuation_bytes(first_byte);
  int32_t code = continuations == 0 ? first_byte : first_byte & (0x3F >> continuations);
  for (next_offset = offset + 1; next_offset <= offset + continuations && is_continuation_byte(byte(next_offset));
       ++next_offset)
    code = code << 6 | (byte(next_offset) & 0x3F);
  return code;
}

// Returns whether float() strips a character. Of ASCII, it strips less than str.strip().
bool is_python_float_space(int32_t c) { return is_white_space(c) && (c < 0x1C || c > 0x1F); }

std::string strip_characters(
    bool (*is_removed)(int32_t), const std::string& text, bool left = true, bool right = true) {
  size_t start = text.size(), end = 0, next;
  for (size_t offset = 0; offset < text.size(); offset = next) {
    if (is_removed(read_character_at(text, offset, next))) continue;
    if (start == text.size()) start = offset;
    end = next;
  }
  start = left ? start : 0, end = right ? end : text.size();
  return start < end ? text.substr(start, end - start) : "";
}

// Parses a token as a number, in the syntax of Python's float().
class PythonFloatParser {
 public:
  explicit PythonFloatParser(const std::string& token) : token_(token) {}

  bool try_parse(double& value) {
    if (!try_read_infinity_or_nan() && !try_read_decimal_number()) return false;
    value = std::strtod(c_spelling_.c_str(), nullptr);
    return true;
  }

 private:
  static bool is_digit(char c) { return c >= '0' && c <= '9'; }
  char character_or_zero(size_t i) const { return i < token_.size() ? token_[i] : '\0'; }
  void copy_next_character() { c_spelling_ += token_[position_++]; }

  void read_sign() {
    if (character_or_zero(position_) == '-' || character_or_zero(position_) == '+') copy_next_character();
  }

  bool try_read_infinity_or_nan() {
    read_sign();
    std::string name;
    for (size_t i = position_; i < token_.size() && name.size() < 9; ++i) name += static_cast<char>(token_[i] | 0x20);
    if (name != "inf" && name != "infinity" && name != "nan") return false;
    c_spelling_ += name;
    return name.size() == token_.size() - position_;
  }

  bool try_read_digits() {
    const size_t start = position_;
    for (; is_digit(character_or_zero(position_)) ||
         (position_ > start && character_or_zero(position_) == '_' && is_digit(character_or_zero(position_ - 1)) &&
             is_digit(character_or_zero(position_ + 1)));
         ++position_)
      if (token_[position_] != '_') c_spelling_ += token_[position_];
    return position_ > start;
  }

  bool try_read_decimal_number() {
    bool has_digits = try_read_digits();
    if (character_or_zero(position_) == '.') copy_next_character(), has_digits = try_read_digits() || has_digits;
    if (!has_digits) return false;
    if (character_or_zero(position_) == 'e' || character_or_zero(position_) == 'E') {
      copy_next_character(), read_sign();
      if (!try_read_digits()) return false;
    }
    return position_ == token_.size();
  }

  const std::string& token_;
  std::string c_spelling_;
  size_t position_ = 0;
};

}  // namespace

bool LineReader::read_line(std::string& line) {
  line.clear();
  if (next_byte_ == ByteReader::end) return false;
  Character character;
  for (character = read_character(); !is_at_line_end(character); character = read_character()) line += character.raw;
  if (line_ends_ == LineEnds::python && character.code == '\r' && next_byte_ == '\n') read_character();
  return true;
}

bool LineReader::is_at_line_end(const Character& character) const {
  if (character.code == ByteReader::end) return true;
  return line_ends_ == LineEnds::python ? is_line_break(character.code) : character.code == '\n';
}

LineReader::Character LineReader::read_character() {
  Character character;
  if (next_byte_ == ByteReader::end) return character;
  int continuations = count_continuation_bytes(next_byte_);
  character.code = continuations == 0 ? next_byte_ : next_byte_ & (0x3F >> continuations);
  character.raw += static_cast<char>(next_byte_);
  for (next_byte_ = bytes_.read_byte(); continuations > 0 && is_continuation_byte(next_byte_);
       --continuations, next_byte_ = bytes_.read_byte()) {
    character.code = character.code << 6 | (next_byte_ & 0x3F);
    character.raw += static_cast<char>(next_byte_);
  }
  return character;
}

std::string strip(const std::string& text, bool left, bool right) {
  return strip_characters(is_white_space, text, left, right);
}

std::string PythonStringSplitter::read_token() {
  std::string token;
  for (size_t next; position_ < text_.size(); position_ = next) {
    if (!is_white_space(read_character_at(text_, position_, next)))
      token.append(text_, position_, next - position_);
    else if (!token.empty())
      break;
  }
  return token;
}

bool parse_python_float(const std::string& token, double& value) {
  return PythonFloatParser(strip_characters(is_python_float_space, token)).try_parse(value);
}

bool are_close_floats(const std::string& actual, const std::string& expected) {
  constexpr double absolute = 1e-8, relative = 1e-5;
  double a, b;
  if (!parse_python_float(actual, a) || !parse_python_float(expected, b)) return false;
  return a == b || (std::isfinite(b) && std::fabs(a - b) <= absolute + relative * std::fabs(b));
}

}  // namespace compare
