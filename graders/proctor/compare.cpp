#include "compare.hpp"

#include <cstdint>
#include <vector>

#include "files.hpp"

namespace compare {
namespace {

// A file from its start, byte by byte, without moving the descriptor's own position.
class Bytes {
 public:
  static constexpr int end = -1;

  explicit Bytes(int fd, int64_t from = 0) : fd_(fd), offset_(from), buffer_(1 << 16) {}

  int next() {
    if (at_ == filled_ && !refill()) return end;
    return static_cast<unsigned char>(buffer_[at_++]);
  }

 private:
  bool refill() {
    ssize_t length;
    do length = pread(fd_, buffer_.data(), buffer_.size(), offset_);
    while (length < 0 && errno == EINTR);
    if (length < 0) sys::fail_errno("cannot read an output");
    offset_ += length;
    at_ = 0;
    filled_ = static_cast<size_t>(length);
    return length > 0;
  }

  int fd_;
  int64_t offset_;
  std::vector<char> buffer_;
  size_t at_ = 0, filled_ = 0;
};

bool is_blank(int c) { return c == ' ' || c == '\t' || c == '\v' || c == '\f' || c == '\r'; }

// The symbols of a file that the white diff looks at: two files are equal when their symbols are.
class Symbols {
 public:
  explicit Symbols(int fd) : bytes_(fd) {}

  int next() {
    if (newlines_ > 0) return --newlines_, '\n';
    if (held_ != none) return take_held();
    bool blank = false;
    for (;;) {
      const int c = bytes_.next();
      if (c == Bytes::end) return c;
      if (c == '\n') {
        ++lines_, blank = false, line_started_ = false;
      } else if (is_blank(c)) {
        blank = true;
      } else {
        return meet(c, blank && line_started_);
      }
    }
  }

 private:
  static constexpr int none = -2;

  // A visible byte: what was held back before it counts now.
  int meet(int c, bool separated) {
    line_started_ = true;
    if (lines_ == 0 && !separated) return c;
    held_ = c;
    if (lines_ == 0) return ' ';
    newlines_ = lines_ - 1;
    lines_ = 0;
    return '\n';
  }

  int take_held() {
    const int c = held_;
    held_ = none;
    return c;
  }

  Bytes bytes_;
  int64_t lines_ = 0, newlines_ = 0;  // line breaks seen since the last visible byte; those still to be given
  int held_ = none;
  bool line_started_ = false;
};

// What Python's str.strip() takes away, as far as it is ASCII.
bool is_strippable(int c) { return c == ' ' || (c >= '\t' && c <= '\r') || (c >= 0x1C && c <= 0x1F); }

struct Span {
  int64_t from = 0, to = 0;
};

Span inner(int fd) {
  Span span;
  bool inside = false;
  Bytes bytes(fd);
  int64_t at = 0;
  for (int c; (c = bytes.next()) != Bytes::end; ++at) {
    if (is_strippable(c)) continue;
    if (!inside) span.from = at;
    inside = true;
    span.to = at + 1;
  }
  return span;
}

}  // namespace

bool white_diff(int output, int answer) {
  Symbols ours(output), theirs(answer);
  for (;;) {
    const int a = ours.next(), b = theirs.next();
    if (a != b) return false;
    if (a == Bytes::end) return true;
  }
}

bool stripped(int output, int answer) {
  const Span a = inner(output), b = inner(answer);
  if (a.to - a.from != b.to - b.from) return false;
  Bytes ours(output, a.from), theirs(answer, b.from);
  for (int64_t left = a.to - a.from; left > 0; --left)
    if (ours.next() != theirs.next()) return false;
  return true;
}

}  // namespace compare
