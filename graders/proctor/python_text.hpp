// Text as Python sees it: UTF-8 characters, lines, white space, numbers.
#pragma once

#include <cstdint>
#include <string>

#include "byte_reader.hpp"

namespace compare {

// Reads the lines of a file without their ends.
class Lines {
 public:
  enum class Ends { python, newline };  // as str.splitlines(), or only at newlines

  Lines(int fd, Ends ends) : bytes_(fd), ends_(ends), next_byte_(bytes_.read_next()) {}

  // Returns false at the end of the file.
  bool read_next(std::string& line);

 private:
  // A character and its bytes. A byte that begins no character stands for itself.
  struct Character {
    int32_t code = ByteReader::end;
    std::string raw;
  };

  bool is_at_line_end(const Character& character) const;
  Character take_character();

  ByteReader bytes_;
  Ends ends_;
  int next_byte_;
};

// Like str.strip(), lstrip() and rstrip().
std::string strip(const std::string& text, bool left = true, bool right = true);

// Returns the words of str.split(), one by one.
class PythonWords {
 public:
  explicit PythonWords(const std::string& text) : text_(text) {}

  // Returns an empty string at the end.
  std::string read_next();

 private:
  const std::string& text_;
  size_t position_ = 0;
};

// Reads a number as Python's float() does: no hexadecimal numbers, but underscores between digits. Only ASCII digits
// are supported.
bool read_float(const std::string& word, double& value);

// Returns whether two numbers are as close as numpy.allclose requires.
bool are_close_floats(const std::string& ours, const std::string& theirs);

}  // namespace compare
