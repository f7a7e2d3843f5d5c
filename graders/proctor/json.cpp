#include "json.hpp"

#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "sys.hpp"

namespace json {
namespace {

const Value missing_field;

[[noreturn]] void fail_with_expected_kind(const char* field_name, const char* kind) {
  sys::fail(std::string(field_name) + ": " + kind + " expected");
}

class Parser {
 public:
  Parser(const std::string& source, int max_depth, size_t max_values)
      : source_(source), max_depth_(max_depth), values_left_(max_values) {}

  Value parse_document() {
    Value value = read_value(0);
    skip_space();
    if (position_ != source_.size()) fail_at_position("nothing more");
    return value;
  }

 private:
  [[noreturn]] void fail_at_position(const char* expected) {
    sys::fail("not JSON at byte " + std::to_string(position_) + ": " + expected + " expected");
  }

  char peek_character() const { return position_ < source_.size() ? source_[position_] : '\0'; }

  void skip_space() {
    while (position_ < source_.size() && std::strchr(" \t\r\n", source_[position_]) && source_[position_]) ++position_;
  }

  void expect_letter(char letter, const char* name) {
    if (peek_character() != letter) fail_at_position(name);
    ++position_;
  }

  bool skip_letter(char letter) {
    skip_space();
    if (peek_character() != letter) return false;
    ++position_;
    return true;
  }

  void expect_literal(const char* word) {
    const size_t length = std::strlen(word);
    if (source_.compare(position_, length, word) != 0) fail_at_position(word);
    position_ += length;
  }

  Value read_value(int depth) {
    if (depth > max_depth_) fail_at_position("less nesting");
    if (values_left_-- == 0) fail_at_position("fewer values");
    skip_space();
    Value value;
    switch (peek_character()) {
      case '{': return read_object(depth);
      case '[': return read_list(depth);
      case '"':
        value.kind = Value::Kind::text;
        value.text = read_string();
        return value;
      case 't': return expect_literal("true"), make_boolean(true);
      case 'f': return expect_literal("false"), make_boolean(false);
      case 'n': return expect_literal("null"), value;
      default: return read_number();
    }
  }

  static Value make_boolean(bool boolean) {
    Value value;
    value.kind = Value::Kind::boolean;
    value.boolean = boolean;
    value.number = boolean ? 1 : 0;
    value.text = boolean ? "1" : "0";
    return value;
  }

  Value read_number() {
    const size_t start = position_;
    while (position_ < source_.size() &&
        (std::isdigit(static_cast<unsigned char>(peek_character())) ||
            (peek_character() && std::strchr("+-.eE", peek_character()))))
      ++position_;
    const std::string digits = source_.substr(start, position_ - start);
    char* end = nullptr;
    Value value;
    value.kind = Value::Kind::number;
    value.number = std::strtod(digits.c_str(), &end);
    value.text = digits;
    // Whole numbers may have any length; they are compared by their digits.
    const bool is_whole = digits.find_first_not_of("0123456789", digits[0] == '-' ? 1 : 0) == std::string::npos;
    if (digits.empty() || *end != '\0' || !(is_whole || std::isfinite(value.number))) {
      position_ = start;
      fail_at_position("a value");
    }
    return value;
  }

  Value read_list(int depth) {
    Value value;
    value.kind = Value::Kind::list;
    expect_letter('[', "[");
    if (skip_letter(']')) return value;
    do {
      value.list.push_back(read_value(depth + 1));
    } while (skip_letter(','));
    expect_letter(']', "]");
    return value;
  }

  Value read_object(int depth) {
    Value value;
    value.kind = Value::Kind::object;
    expect_letter('{', "{");
    if (skip_letter('}')) return value;
    do {
      skip_space();
      std::string name = read_string();
      skip_space();
      expect_letter(':', ":");
      value.object[std::move(name)] = read_value(depth + 1);
    } while (skip_letter(','));
    expect_letter('}', "}");
    return value;
  }

  std::string read_string() {
    expect_letter('"', "a string");
    std::string text;
    while (peek_character() != '"') {
      if (position_ >= source_.size()) fail_at_position("\"");
      if (peek_character() == '\\') {
        ++position_;
        read_escape(text);
      } else {
        text += source_[position_++];
      }
    }
    ++position_;
    return text;
  }

  void read_escape(std::string& text) {
    static const char escape_letters[] = "\"\\/bfnrt";
    static const char escaped_bytes[] = "\"\\/\b\f\n\r\t";
    const char name = peek_character();
    if (name == 'u') {
      ++position_;
      append_utf8(text, read_code_point());
      return;
    }
    const char* match = name ? std::strchr(escape_letters, name) : nullptr;
    if (!match) fail_at_position("an escape");
    text += escaped_bytes[match - escape_letters];
    ++position_;
  }

  unsigned read_four_hex_digits() {
    unsigned code = 0;
    for (int digit = 0; digit < 4; ++digit, ++position_) {
      const char c = peek_character();
      if (!std::isxdigit(static_cast<unsigned char>(c))) fail_at_position("four hexadecimal digits");
      code = code * 16 + static_cast<unsigned>(c <= '9' ? c - '0' : (c | 32) - 'a' + 10);
    }
    return code;
  }

  // An unpaired surrogate is accepted as a code point, as in Python.
  unsigned read_code_point() {
    const unsigned high = read_four_hex_digits();
    if (high < 0xD800 || high > 0xDBFF || source_.compare(position_, 2, "\\u") != 0) return high;
    const size_t after_high = position_;
    position_ += 2;
    const unsigned low = read_four_hex_digits();
    if (low >= 0xDC00 && low <= 0xDFFF) return 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00);
    position_ = after_high;
    return high;
  }

  static void append_utf8(std::string& text, unsigned code) {
    if (code < 0x80) {
      text += static_cast<char>(code);
    } else if (code < 0x800) {
      text += static_cast<char>(0xC0 | code >> 6);
      text += static_cast<char>(0x80 | (code & 0x3F));
    } else if (code < 0x10000) {
      text += static_cast<char>(0xE0 | code >> 12);
      text += static_cast<char>(0x80 | (code >> 6 & 0x3F));
      text += static_cast<char>(0x80 | (code & 0x3F));
    } else {
      text += static_cast<char>(0xF0 | code >> 18);
      text += static_cast<char>(0x80 | (code >> 12 & 0x3F));
      text += static_cast<char>(0x80 | (code >> 6 & 0x3F));
      text += static_cast<char>(0x80 | (code & 0x3F));
    }
  }

  const std::string& source_;
  int max_depth_;
  size_t values_left_, position_ = 0;
};

}  // namespace

const Value& Value::at(const std::string& name) const {
  const auto field = object.find(name);
  return field == object.end() ? missing_field : field->second;
}

const std::string& Value::as_text(const char* field_name) const {
  if (kind != Kind::text) fail_with_expected_kind(field_name, "a string");
  return text;
}

double Value::as_number(const char* field_name) const {
  if (kind != Kind::number) fail_with_expected_kind(field_name, "a number");
  return number;
}

int64_t Value::as_integer(const char* field_name) const {
  const double value = as_number(field_name);
  if (value != std::floor(value) || std::fabs(value) > 9e15) fail_with_expected_kind(field_name, "a whole number");
  return static_cast<int64_t>(value);
}

bool Value::as_boolean(const char* field_name) const {
  if (kind != Kind::boolean) fail_with_expected_kind(field_name, "true or false");
  return boolean;
}

const std::vector<Value>& Value::as_list(const char* field_name) const {
  if (is_null()) return list;
  if (kind != Kind::list) fail_with_expected_kind(field_name, "a list");
  return list;
}

std::vector<std::string> Value::as_strings(const char* field_name) const {
  std::vector<std::string> strings;
  for (const Value& item : as_list(field_name)) strings.push_back(item.as_text(field_name));
  return strings;
}

std::string Value::text_or(const char* fallback, const char* field_name) const {
  return is_null() ? fallback : as_text(field_name);
}
int64_t Value::integer_or(int64_t fallback, const char* field_name) const {
  return is_null() ? fallback : as_integer(field_name);
}
bool Value::boolean_or(bool fallback, const char* field_name) const {
  return is_null() ? fallback : as_boolean(field_name);
}

Value parse(const std::string& source, int max_depth, size_t max_values) {
  return Parser(source, max_depth, max_values).parse_document();
}

std::string quote(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", c);
      quoted += escape;
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

}  // namespace json
