// The built-in comparisons. They stream the files, so that memory does not grow with the size of an output.
#pragma once

#include <string>

namespace compare {

// How tokens are compared.
struct TokenRules {
  bool case_sensitive = true, space_sensitive = false;
  // Tolerances; negative means exact. With a tolerance, tokens that are numbers in the answer are compared as numbers.
  long double absolute_tolerance = -1, relative_tolerance = -1;

  bool has_tolerance() const { return absolute_tolerance >= 0 || relative_tolerance >= 0; }
  bool is_close(long double actual, long double expected) const;
};

// Returns whether both files have equal lines. A run of white space counts as a single blank. Leading and trailing
// white space of lines, and trailing blank lines, are ignored.
bool matches_white_diff(int output_fd, int answer_fd, const TokenRules& rules = {});

// Like `matches_white_diff`, but all blank lines are ignored, not only trailing blank lines.
bool matches_nonblank_lines(int output_fd, int answer_fd, const TokenRules& rules = {});

// Returns whether both files are equal byte for byte after their leading and trailing white space is stripped.
bool matches_stripped_file(int output_fd, int answer_fd, const TokenRules& rules = {});

// Returns whether both files are equal byte for byte.
bool matches_exactly(int output_fd, int answer_fd, const TokenRules& rules = {});

// Returns whether both files have equal tokens. White space only separates tokens, unless `space_sensitive` is set.
bool matches_tokens(int output_fd, int answer_fd, const TokenRules& rules = {});

// Returns whether both files have equal lines, after leading and trailing white space of the file and of each line is
// stripped. Lines are equal, too, if all their tokens are decimal numbers of equal value.
bool matches_lines_or_numbers(int output_fd, int answer_fd, const TokenRules& rules = {});

// Like `matches_lines_or_numbers`, but lines must be equal byte for byte.
bool matches_stripped_lines(int output_fd, int answer_fd, const TokenRules& rules = {});

// Returns whether both files have equal lines, split and stripped as by Python's str.splitlines() and str.strip(), or
// only lines with numbers that are as close as numpy.allclose requires. Trailing empty lines of the output are ignored.
bool matches_float_lines(int output_fd, int answer_fd, const TokenRules& rules = {});

// Compares like the harness of APPS, which accepts an output if any of its comparisons does: the stripped file, line by
// line, as floats, as sets of the tokens of lines, as sets of rounded numbers.
bool matches_by_apps_rules(int output_fd, int answer_fd, const TokenRules& rules = {});

// Compares like verl's prime_code: the comparisons of APPS without the sets. Lines of digits alone are not floats.
bool matches_by_prime_code_rules(int output_fd, int answer_fd, const TokenRules& rules = {});

// Returns whether both files contain equal JSON values. Spaces, the order of an object's fields and the spelling of a
// number are ignored; true equals 1, as in Python. Numbers may differ by the tolerance unless both are whole.
bool matches_json(int output_fd, int answer_fd, const TokenRules& rules = {});

// Like `matches_json`, or the answer is a list whose only element equals the output.
bool matches_json_or_wrapped_json(int output_fd, int answer_fd, const TokenRules& rules = {});

using Comparison = bool (*)(int output_fd, int answer_fd, const TokenRules& rules);

// Returns the comparison with this name in plans, or null if there is none.
Comparison find_comparison(const std::string& name);

}  // namespace compare
