#include "text.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace text {
namespace {

constexpr const char* replacement_character = "\xEF\xBF\xBD";

// A character of UTF-8 text: its code and its number of bytes.
struct DecodedCharacter {
  uint32_t code;
  size_t length;  // number of bytes, or 0 for an invalid sequence
};

DecodedCharacter decode_character(const std::string& raw, size_t offset) {
  const auto byte = [&](size_t i) { return i < raw.size() ? static_cast<unsigned char>(raw[i]) : 0u; };
  const unsigned first = byte(offset);
  if (first < 0x80) return {first, 1};
  const size_t length = first >= 0xF0 && first < 0xF5 ? 4
      : first >= 0xE0 && first < 0xF0                 ? 3
      : first >= 0xC2 && first < 0xE0                 ? 2
                                                      : 0;
  if (length == 0) return {0, 0};
  uint32_t code = first & (0xFF >> (length + 1));
  for (size_t i = 1; i < length; ++i) {
    const unsigned next = byte(offset + i);
    if ((next & 0xC0) != 0x80) return {0, 0};
    code = code << 6 | (next & 0x3F);
  }
  static const uint32_t min_code_of_length[] = {0, 0, 0x80, 0x800, 0x10000};
  if (code < min_code_of_length[length] || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) return {0, 0};
  return {code, length};
}

bool is_control(uint32_t code) {
  return code < 0x20 || (code >= 0x7F && code < 0xA0) || code == 0x2028 || code == 0x2029;
}

bool is_invisible_or_reordering(uint32_t code) {
  return (code >= 0x200B && code <= 0x200F) || (code >= 0x202A && code <= 0x202E) ||
      (code >= 0x2066 && code <= 0x2069) || code == 0xFEFF;
}

std::string replace_unprintable(const std::string& raw, size_t max_bytes, const char* kept_control_characters) {
  std::string clean;
  for (size_t position = 0; position < raw.size();) {
    const DecodedCharacter character = decode_character(raw, position);
    std::string printable;
    if (character.length == 0 || is_invisible_or_reordering(character.code))
      printable = replacement_character;
    else if (is_control(character.code) &&
        !(character.code && character.code < 0x20 &&
            std::strchr(kept_control_characters, static_cast<int>(character.code))))
      printable = " ";
    else
      printable = raw.substr(position, character.length);
    if (clean.size() + printable.size() > max_bytes) break;
    clean += printable;
    position += character.length ? character.length : 1;
  }
  return clean;
}

}  // namespace

std::string make_printable(const std::string& raw, size_t max_bytes) {
  std::string clean = replace_unprintable(raw, max_bytes, "");
  while (!clean.empty() && clean.back() == ' ') clean.pop_back();
  return clean;
}

std::string make_printable_lines(const std::string& raw, size_t max_bytes) {
  return replace_unprintable(raw, max_bytes, "\n\t");
}

std::string find_first_line(const std::string& raw) { return raw.substr(0, raw.find('\n')); }

std::string find_error_line(const std::string& raw) {
  const size_t traceback_start = raw.rfind(traceback_heading);
  size_t position = traceback_start == std::string::npos ? 0 : traceback_start + std::strlen(traceback_heading);
  while (position < raw.size() && std::string(" \t\r\n").find(raw[position]) != std::string::npos)
    position = std::min(raw.find('\n', position), raw.size() - 1) + 1;
  return find_first_line(position < raw.size() ? raw.substr(position) : raw);
}

std::string format_json_field(const char* name, int64_t value) {
  return std::string(",\"") + name + "\":" + std::to_string(value);
}

}  // namespace text
