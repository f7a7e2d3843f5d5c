// A buffered reader of single bytes, used by the comparisons.
#pragma once

#include <cerrno>
#include <cstdint>
#include <unistd.h>
#include <vector>

#include "sys.hpp"

namespace compare {

// Reads a file byte by byte, from an offset, without moving the descriptor's own position.
class ByteReader {
 public:
  static constexpr int end = -1;

  explicit ByteReader(int fd, int64_t offset = 0) : fd_(fd), offset_(offset), buffer_(1 << 16) {}

  // Returns the next byte, or `end` if the file has no more bytes.
  int read_byte() {
    if (position_ == length_ && !refill_buffer()) return end;
    return static_cast<unsigned char>(buffer_[position_++]);
  }

 private:
  // Reads the next part of the file into the buffer. Returns false if the file has no more bytes.
  bool refill_buffer() {
    ssize_t length;
    do length = pread(fd_, buffer_.data(), buffer_.size(), offset_);
    while (length < 0 && errno == EINTR);
    if (length < 0) sys::fail_errno("cannot read an output");
    offset_ += length;
    position_ = 0;
    length_ = static_cast<size_t>(length);
    return length > 0;
  }

  int fd_;
  int64_t offset_;
  std::vector<char> buffer_;
  size_t position_ = 0, length_ = 0;
};

// Returns whether Python's str.strip() removes a byte. Only ASCII is covered.
inline bool is_python_space(int c) { return c == ' ' || (c >= '\t' && c <= '\r') || (c >= 0x1C && c <= 0x1F); }

}  // namespace compare
