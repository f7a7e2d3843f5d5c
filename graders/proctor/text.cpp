#include "text.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace text {
namespace {

constexpr const char* replacement = "\xEF\xBF\xBD";

struct Decoded {
  uint32_t code;
  size_t length;  // 0: not a valid sequence
};

Decoded decode(const std::string& raw, size_t at) {
  const auto byte = [&](size_t i) { return i < raw.size() ? static_cast<unsigned char>(raw[i]) : 0u; };
  const unsigned first = byte(at);
  if (first < 0x80) return {first, 1};
  const size_t length = first >= 0xF0 && first < 0xF5 ? 4 : first >= 0xE0 && first < 0xF0 ? 3 : first >= 0xC2 &&
      first < 0xE0 ? 2 : 0;
  if (length == 0) return {0, 0};
  uint32_t code = first & (0xFF >> (length + 1));
  for (size_t i = 1; i < length; ++i) {
    const unsigned next = byte(at + i);
    if ((next & 0xC0) != 0x80) return {0, 0};
    code = code << 6 | (next & 0x3F);
  }
  static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
  if (code < smallest[length] || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) return {0, 0};
  return {code, length};
}

bool is_control(uint32_t code) {
  return code < 0x20 || (code >= 0x7F && code < 0xA0) || code == 0x2028 || code == 0x2029;
}

bool is_misleading(uint32_t code) {
  return (code >= 0x200B && code <= 0x200F) || (code >= 0x202A && code <= 0x202E) ||
      (code >= 0x2066 && code <= 0x2069) || code == 0xFEFF;
}

std::string cleaned(const std::string& raw, size_t most, const char* kept) {
  std::string clean;
  for (size_t at = 0; at < raw.size();) {
    const Decoded found = decode(raw, at);
    std::string piece;
    if (found.length == 0 || is_misleading(found.code))
      piece = replacement;
    else if (is_control(found.code) &&
        !(found.code && found.code < 0x20 && std::strchr(kept, static_cast<int>(found.code))))
      piece = " ";
    else
      piece = raw.substr(at, found.length);
    if (clean.size() + piece.size() > most) break;
    clean += piece;
    at += found.length ? found.length : 1;
  }
  return clean;
}

}  // namespace

std::string printable(const std::string& raw, size_t most) {
  std::string clean = cleaned(raw, most, "");
  while (!clean.empty() && clean.back() == ' ') clean.pop_back();
  return clean;
}

std::string printable_lines(const std::string& raw, size_t most) { return cleaned(raw, most, "\n\t"); }

std::string first_line(const std::string& raw) { return raw.substr(0, raw.find('\n')); }

std::string error_line(const std::string& raw) {
  const size_t calls = raw.rfind(traceback);
  size_t at = calls == std::string::npos ? 0 : calls + std::strlen(traceback);
  while (at < raw.size() && std::string(" \t\r\n").find(raw[at]) != std::string::npos)
    at = std::min(raw.find('\n', at), raw.size() - 1) + 1;
  return first_line(at < raw.size() ? raw.substr(at) : raw);
}

std::string field(const char* name, int64_t value) {
  return std::string(",\"") + name + "\":" + std::to_string(value);
}

}  // namespace text
