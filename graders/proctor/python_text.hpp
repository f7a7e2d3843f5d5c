// Texts as Python sees them: characters in UTF-8, its lines, its white space, its numbers.
#pragma once

#include <cstdint>
#include <string>

#include "byte_reader.hpp"

namespace compare {

// The lines of a file without what ends them.
class Lines {
 public:
  enum class Ends { python, newline };  // as str.splitlines() has them, or at newlines alone

  Lines(int fd, Ends ends) : bytes_(fd), ends_(ends), next_byte_(bytes_.next()) {}

  // False at the end.
  bool next(std::string& line);

 private:
  // A character, and the bytes that it is written with. A byte that begins none stands for itself.
  struct Character {
    int32_t code = ByteReader::end;
    std::string raw;
  };

  bool at_end_of_line(const Character& character) const;
  Character take_character();

  ByteReader bytes_;
  Ends ends_;
  int next_byte_;
};

// As str.strip(), lstrip() and rstrip().
std::string strip(const std::string& text, bool left = true, bool right = true);

// What str.split() gives, one by one.
class PythonWords {
 public:
  explicit PythonWords(const std::string& text) : text_(text) {}

  // Empty at the end.
  std::string next();

 private:
  const std::string& text_;
  size_t position_ = 0;
};

// What Python's float() reads: no hexadecimal numbers, but underscores between digits. Of digits those of ASCII alone.
bool read_float(const std::string& word, double& value);

// As close as numpy.allclose asks for.
bool close_floats(const std::string& ours, const std::string& theirs);

}  // namespace compare
