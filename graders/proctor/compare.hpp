// The comparisons that are built in. They stream: two outputs of a gigabyte take no more memory than two of a line.
#pragma once

#include <string>

namespace compare {

// How words are compared.
struct TokenRules {
  bool case_sensitive = true, space_sensitive = false;
  // Tolerances; negative: none. With one, what is a number in the answer is compared as one.
  long double absolute = -1, relative = -1;

  bool has_tolerance() const { return absolute >= 0 || relative >= 0; }
  bool is_close(long double ours, long double theirs) const;
};

// Line by line; runs of white space count as one blank, white space at both ends of a line and blank lines at the end
// not at all.
bool white_diff(int output, int answer, const TokenRules& rules = {});

// The same, and blank lines do not count anywhere.
bool word_lines(int output, int answer, const TokenRules& rules = {});

// Equal byte for byte after white space is stripped from both ends of the whole.
bool stripped(int output, int answer, const TokenRules& rules = {});

// Equal byte for byte.
bool exact(int output, int answer, const TokenRules& rules = {});

// Word by word; white space only separates, unless it is to be the same too.
bool tokens(int output, int answer, const TokenRules& rules = {});

// Line by line, white space stripped from both ends of the whole and of each line. A line is equal byte for byte, or
// all its words are decimal numbers and equal as such, whatever their spelling.
bool lines(int output, int answer, const TokenRules& rules = {});

// The same, and lines are equal byte for byte only.
bool stripped_lines(int output, int answer, const TokenRules& rules = {});

// Line by line as Python's str.splitlines() and strip() have them, empty ones at the output's end left out: all lines
// equal, or all of them numbers that are as close as numpy.allclose asks for.
bool float_lines(int output, int answer, const TokenRules& rules = {});

// As the harness of APPS compares, which tries one way after another: the whole without white space at its ends, line
// by line, as floats, as sets of the words of lines, as sets of rounded numbers.
bool apps(int output, int answer, const TokenRules& rules = {});

// As verl's prime_code compares: the ways of APPS without the sets, and lines of digits alone are no floats.
bool prime_code(int output, int answer, const TokenRules& rules = {});

// As values of JSON: spaces, the order of an object's fields and the spelling of a number do not matter, true is 1 as
// in Python. Numbers that are not both whole may differ by a tolerance.
bool json(int output, int answer, const TokenRules& rules = {});

// The same, or the answer is a list of which the only element is the value.
bool json_wrapped(int output, int answer, const TokenRules& rules = {});

using Comparison = bool (*)(int output, int answer, const TokenRules& rules);

// By the name that a plan has for it; null where there is none.
Comparison find_comparison(const std::string& name);

}  // namespace compare
