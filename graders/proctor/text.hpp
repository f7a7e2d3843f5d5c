// Makes text that programs wrote printable for people.
#pragma once

#include <cstdint>
#include <string>

namespace text {

// Returns at most `max_bytes` of printable UTF-8 on a single line. Control characters become spaces; invalid sequences
// and bidirectional controls become U+FFFD, so that feedback can neither forge lines nor control a terminal.
std::string make_printable(const std::string& raw, size_t max_bytes);

// Like `make_printable`, but preserves line breaks and tabs, for strings that are not shown on a terminal.
std::string make_printable_lines(const std::string& raw, size_t max_bytes);

// Returns the text up to the first line break.
std::string find_first_line(const std::string& raw);

// The first line of Python's message about an uncaught exception.
constexpr const char* traceback_heading = "Traceback (most recent call last):";

// Returns the line that names the error: the first line that is not indented, or after a Python traceback.
std::string find_error_line(const std::string& raw);

// Returns `,"name":value`, the text of a further field of a JSON object.
std::string format_json_field(const char* name, int64_t value);

}  // namespace text
