// Text as Python sees it: UTF-8 characters, lines, white space, numbers.
#pragma once

#include <cstdint>
#include <string>

#include "byte_reader.hpp"

namespace compare {

// Reads the lines of a file without line breaks.
class LineReader {
 public:
  enum class LineEnds { python, newline };  // lines are split as by str.splitlines(), or only at newlines

  LineReader(int fd, LineEnds line_ends) : bytes_(fd), line_ends_(line_ends), next_byte_(bytes_.read_byte()) {}

  // Returns false if the file has no more lines.
  bool read_line(std::string& line);

 private:
  // A character and its bytes. A byte that does not start a character counts as a character.
  struct Character {
    int32_t code = ByteReader::end;
    std::string raw;
  };

  bool is_at_line_end(const Character& character) const;
  Character read_character();

  ByteReader bytes_;
  LineEnds line_ends_;
  int next_byte_;
};

// Strips white space from a string like Python's str.strip(), lstrip() and rstrip().
std::string strip(const std::string& text, bool left = true, bool right = true);

// Splits a string into tokens like Python's str.split().
class PythonStringSplitter {
 public:
  explicit PythonStringSplitter(const std::string& text) : text_(text) {}

  // Returns the next token, or an empty string after the last token.
  std::string read_token();

 private:
  const std::string& text_;
  size_t position_ = 0;
};

// Parses a number as Python's float() does: no hexadecimal numbers, but underscores between digits. Only ASCII digits
// are supported.
bool parse_python_float(const std::string& token, double& value);

// Returns whether two numbers are as close as numpy.allclose requires.
bool are_close_floats(const std::string& actual, const std::string& expected);

}  // namespace compare
