// The comparisons that are built in. They stream: two outputs of a gigabyte take no more memory than two of a line.
#pragma once

namespace compare {

// Line by line; runs of white space count as one blank, white space at both ends of a line and blank lines at the end not at all.
bool white_diff(int output, int answer);

// Equal byte for byte after white space is stripped from both ends of the whole.
bool stripped(int output, int answer);

}  // namespace compare
