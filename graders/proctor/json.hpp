// Just enough JSON: plans and specs in, lines and reports out.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace json {

class Value {
 public:
  enum class Kind { null, boolean, number, text, list, object };

  Kind kind = Kind::null;
  bool boolean = false;
  double number = 0;
  std::string text;  // of a number or truth value: as it was written
  std::vector<Value> list;
  std::map<std::string, Value> object;

  bool is_null() const { return kind == Kind::null; }

  // The field of an object; null where it is missing.
  const Value& at(const std::string& name) const;

  // Conversions fail (sys::Failure) with the name of what was expected, so that a plan's fault is easy to find.
  const std::string& as_text(const char* field_name) const;
  double as_number(const char* field_name) const;
  int64_t as_whole(const char* field_name) const;
  bool as_boolean(const char* field_name) const;
  const std::vector<Value>& as_list(const char* field_name) const;

  std::vector<std::string> as_texts(const char* field_name) const;
  std::string text_or(const char* fallback, const char* field_name) const;
  int64_t whole_or(int64_t fallback, const char* field_name) const;
  bool boolean_or(bool fallback, const char* field_name) const;
};

// Fails (sys::Failure) with the byte offset where the text is not JSON, nests deeper than allowed (our own documents
// nest five levels, and recursion must not be the sender's choice) or holds more values, each of which takes a hundred
// times as much memory.
Value parse(const std::string& source, int max_depth = 32, size_t max_values = SIZE_MAX);

// The text as a JSON string, quotes included; the text must be valid UTF-8.
std::string quote(const std::string& text);

}  // namespace json
