#include "compare.hpp"

#include <string>

#include "python_text.hpp"

namespace compare {
namespace {

// Empty lines at the end of the output do not count, and those of the answer do: so their answer is never met.
bool all_lines(int output, int answer, bool (*same)(const std::string&, const std::string&)) {
  Lines ours(output, Lines::Ends::python), theirs(answer, Lines::Ends::python);
  std::string a, b;
  bool may_end = true;
  while (theirs.next(b)) {
    b = strip(b);
    if (!ours.next(a) || !same(strip(a), b)) return false;
    may_end = !b.empty();
  }
  while (ours.next(a))
    if (!strip(a).empty()) return false;
  return may_end;
}

}  // namespace

bool float_lines(int output, int answer) {
  const auto equal = [](const std::string& a, const std::string& b) { return a == b; };
  return all_lines(output, answer, equal) || all_lines(output, answer, close_floats);
}

}  // namespace compare
