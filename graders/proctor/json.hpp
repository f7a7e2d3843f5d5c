// A small JSON reader and writer for plans, specs, lines and reports.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace json {

// A JSON value of any kind.
class Value {
 public:
  enum class Kind { null, boolean, number, text, list, object };

  Kind kind = Kind::null;
  bool boolean = false;
  double number = 0;
  std::string text;  // a string, or the spelling of a number or boolean in the source
  std::vector<Value> list;
  std::map<std::string, Value> object;

  bool is_null() const { return kind == Kind::null; }

  // Returns the field of an object, or null if it is missing.
  const Value& at(const std::string& name) const;

  // Conversions. They fail (sys::Failure) with the field's name and the expected kind.
  const std::string& as_text(const char* field_name) const;
  double as_number(const char* field_name) const;
  int64_t as_integer(const char* field_name) const;
  bool as_boolean(const char* field_name) const;
  const std::vector<Value>& as_list(const char* field_name) const;

  std::vector<std::string> as_strings(const char* field_name) const;
  std::string text_or(const char* fallback, const char* field_name) const;
  int64_t integer_or(int64_t fallback, const char* field_name) const;
  bool boolean_or(bool fallback, const char* field_name) const;
};

// Parses a JSON text. Fails (sys::Failure) with the byte offset if it is not JSON, is nested deeper than `max_depth` or
// has more than `max_values` values. The judge's documents have five levels. The limits prevent a sender from
// exhausting stack and memory, because a value needs a hundred times as much memory as its text.
Value parse(const std::string& source, int max_depth = 32, size_t max_values = SIZE_MAX);

// Returns a string as JSON, with quotes. The string must be valid UTF-8.
std::string quote(const std::string& text);

}  // namespace json
