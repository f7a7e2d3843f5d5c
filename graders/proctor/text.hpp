// Text that came from a program and goes to people.
#pragma once

#include <cstdint>
#include <string>

namespace text {

// At most `most` bytes of printable UTF-8 on one line: control characters become spaces, broken sequences and
// bidirectional controls become U+FFFD, so that feedback can neither forge lines nor drive a terminal.
std::string printable(const std::string& raw, size_t max_bytes);

// The same with line breaks and tabs as they are, for what goes on as a whole and not onto a terminal.
std::string printable_lines(const std::string& raw, size_t max_bytes);

// Up to the first line break.
std::string first_line(const std::string& raw);

// What a Python program that was ended by an exception says first.
constexpr const char* traceback = "Traceback (most recent call last):";

// The line that names the error: the first that is not indented, in Python's words behind the calls that led to it.
std::string error_line(const std::string& raw);

// A further field of a JSON object, whose value is a number.
std::string json_field(const char* name, int64_t value);

}  // namespace text
