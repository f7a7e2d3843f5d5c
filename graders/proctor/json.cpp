#include "json.hpp"

#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "sys.hpp"

namespace json {
namespace {

const Value missing;

[[noreturn]] void expected(const char* what, const char* kind) {
  sys::fail(std::string(what) + ": " + kind + " expected");
}

class Parser {
 public:
  Parser(const std::string& source, int deepest, size_t most) : source_(source), deepest_(deepest), left_(most) {}

  Value document() {
    Value value = read_value(0);
    skip_space();
    if (position_ != source_.size()) wrong("nothing more");
    return value;
  }

 private:
  [[noreturn]] void wrong(const char* wanted) {
    sys::fail("not JSON at byte " + std::to_string(position_) + ": " + wanted + " expected");
  }

  char peek() const { return position_ < source_.size() ? source_[position_] : '\0'; }

  void skip_space() {
    while (position_ < source_.size() && std::strchr(" \t\r\n", source_[position_]) && source_[position_]) ++position_;
  }

  void take(char wanted, const char* name) {
    if (peek() != wanted) wrong(name);
    ++position_;
  }

  bool took(char wanted) {
    skip_space();
    if (peek() != wanted) return false;
    ++position_;
    return true;
  }

  void take_word(const char* word) {
    const size_t length = std::strlen(word);
    if (source_.compare(position_, length, word) != 0) wrong(word);
    position_ += length;
  }

  Value read_value(int depth) {
    if (depth > deepest_) wrong("less nesting");
    if (left_-- == 0) wrong("fewer values");
    skip_space();
    Value value;
    switch (peek()) {
      case '{': return read_object(depth);
      case '[': return read_list(depth);
      case '"':
        value.kind = Value::Kind::text;
        value.text = read_text();
        return value;
      case 't': return take_word("true"), read_boolean(true);
      case 'f': return take_word("false"), read_boolean(false);
      case 'n': return take_word("null"), value;
      default: return read_number();
    }
  }

  static Value read_boolean(bool truth) {
    Value value;
    value.kind = Value::Kind::boolean;
    value.boolean = truth;
    value.number = truth ? 1 : 0;
    value.text = truth ? "1" : "0";
    return value;
  }

  Value read_number() {
    const size_t start = position_;
    while (position_ < source_.size() &&
        (std::isdigit(static_cast<unsigned char>(peek())) || (peek() && std::strchr("+-.eE", peek()))))
      ++position_;
    const std::string digits = source_.substr(start, position_ - start);
    char* end = nullptr;
    Value value;
    value.kind = Value::Kind::number;
    value.number = std::strtod(digits.c_str(), &end);
    value.text = digits;
    // Whole numbers of any length are numbers, and are compared by their digits.
    const bool whole = digits.find_first_not_of("0123456789", digits[0] == '-' ? 1 : 0) == std::string::npos;
    if (digits.empty() || *end != '\0' || !(whole || std::isfinite(value.number))) {
      position_ = start;
      wrong("a value");
    }
    return value;
  }

  Value read_list(int depth) {
    Value value;
    value.kind = Value::Kind::list;
    take('[', "[");
    if (took(']')) return value;
    do {
      value.list.push_back(read_value(depth + 1));
    } while (took(','));
    take(']', "]");
    return value;
  }

  Value read_object(int depth) {
    Value value;
    value.kind = Value::Kind::object;
    take('{', "{");
    if (took('}')) return value;
    do {
      skip_space();
      std::string name = read_text();
      skip_space();
      take(':', ":");
      value.object[std::move(name)] = read_value(depth + 1);
    } while (took(','));
    take('}', "}");
    return value;
  }

  std::string read_text() {
    take('"', "a string");
    std::string text;
    while (peek() != '"') {
      if (position_ >= source_.size()) wrong("\"");
      if (peek() == '\\') {
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
    static const char names[] = "\"\\/bfnrt";
    static const char bytes[] = "\"\\/\b\f\n\r\t";
    const char name = peek();
    if (name == 'u') {
      ++position_;
      append_utf8(text, read_code_point());
      return;
    }
    const char* found = name ? std::strchr(names, name) : nullptr;
    if (!found) wrong("an escape");
    text += bytes[found - names];
    ++position_;
  }

  unsigned read_hex() {
    unsigned code = 0;
    for (int digit = 0; digit < 4; ++digit, ++position_) {
      const char c = peek();
      if (!std::isxdigit(static_cast<unsigned char>(c))) wrong("four hexadecimal digits");
      code = code * 16 + static_cast<unsigned>(c <= '9' ? c - '0' : (c | 32) - 'a' + 10);
    }
    return code;
  }

  // Half a surrogate pair stands for itself, as in Python.
  unsigned read_code_point() {
    const unsigned high = read_hex();
    if (high < 0xD800 || high > 0xDBFF || source_.compare(position_, 2, "\\u") != 0) return high;
    const size_t behind = position_;
    position_ += 2;
    const unsigned low = read_hex();
    if (low >= 0xDC00 && low <= 0xDFFF) return 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00);
    position_ = behind;
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
  int deepest_;
  size_t left_, position_ = 0;
};

}  // namespace

const Value& Value::at(const std::string& name) const {
  const auto found = object.find(name);
  return found == object.end() ? missing : found->second;
}

const std::string& Value::as_text(const char* what) const {
  if (kind != Kind::text) expected(what, "a string");
  return text;
}

double Value::as_number(const char* what) const {
  if (kind != Kind::number) expected(what, "a number");
  return number;
}

int64_t Value::as_whole(const char* what) const {
  const double value = as_number(what);
  if (value != std::floor(value) || std::fabs(value) > 9e15) expected(what, "a whole number");
  return static_cast<int64_t>(value);
}

bool Value::as_boolean(const char* what) const {
  if (kind != Kind::boolean) expected(what, "true or false");
  return boolean;
}

const std::vector<Value>& Value::as_list(const char* what) const {
  if (is_null()) return list;
  if (kind != Kind::list) expected(what, "a list");
  return list;
}

std::vector<std::string> Value::texts(const char* what) const {
  std::vector<std::string> all;
  for (const Value& item : as_list(what)) all.push_back(item.as_text(what));
  return all;
}

std::string Value::text_or(const char* fallback, const char* what) const {
  return is_null() ? fallback : as_text(what);
}
int64_t Value::whole_or(int64_t fallback, const char* what) const { return is_null() ? fallback : as_whole(what); }
bool Value::boolean_or(bool fallback, const char* what) const { return is_null() ? fallback : as_boolean(what); }

Value parse(const std::string& source, int deepest, size_t most) { return Parser(source, deepest, most).document(); }

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
