// As the harness of APPS compares, and verl's prime_code after it: whatever one of the ways calls right is right.
#include "compare.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "python_text.hpp"

namespace compare {
namespace {

using Texts = std::vector<std::string>;

// One way to be right. It meets the lines of the output one by one and keeps none: only the answer is held in memory.
class Way {
 public:
  virtual ~Way() = default;

  // False: the output can no longer be right in this way.
  virtual bool meet(const std::string& line) = 0;

  // Whether an output that ends here is right.
  virtual bool end() const = 0;
};

// The whole is equal without the white space at its ends; of the output's lines it may be taken away, too.
class Whole : public Way {
 public:
  Whole(const Texts& answer, bool strip_lines) : strip_lines_(strip_lines) {
    const auto visible = [](const std::string& line) { return !strip(line).empty(); };
    const auto first = std::find_if(answer.begin(), answer.end(), visible);
    expected_.assign(first, std::find_if(answer.rbegin(), std::make_reverse_iterator(first), visible).base());
    if (expected_.empty()) return;
    expected_.front() = strip(expected_.front(), true, false);
    expected_.back() = strip(expected_.back(), false, true);
  }

  bool meet(const std::string& line) override {
    const std::string bare = strip(line);
    if (bare.empty()) return skip(line);
    at_ += gap_, gap_ = 0;
    if (!gap_fits_ || at_ >= expected_.size()) return false;
    const std::string& ours = strip_lines_ ? bare : strip(line, at_ == 0, at_ + 1 == expected_.size());
    return ours == expected_[at_++];
  }

  bool end() const override { return at_ == expected_.size(); }

 private:
  // Counts only where something visible comes before and after it.
  bool skip(const std::string& line) {
    if (at_ == 0) return true;
    const size_t place = at_ + gap_++;
    gap_fits_ = gap_fits_ && place < expected_.size() && expected_[place] == (strip_lines_ ? "" : line);
    return true;
  }

  bool strip_lines_;
  Texts expected_;
  size_t at_ = 0, gap_ = 0;
  bool gap_fits_ = true;
};

using Same = bool (*)(const std::string& ours, const std::string& theirs);

bool equal(const std::string& ours, const std::string& theirs) { return ours == theirs; }

bool close(const std::string& ours, const std::string& theirs) { return close_floats(strip(ours), theirs); }

// Line by line, empty ones of the output left out or not.
class InTurn : public Way {
 public:
  InTurn(const Texts& expected, bool skip_empty, Same same)
      : expected_(expected), skip_empty_(skip_empty), same_(same) {}

  bool meet(const std::string& line) override {
    if (skip_empty_ && line.empty()) return true;
    return at_ < expected_.size() && same_(line, expected_[at_++]);
  }

  bool end() const override { return at_ == expected_.size(); }

 private:
  const Texts& expected_;
  bool skip_empty_;
  Same same_;
  size_t at_ = 0;
};

// As floats, unless each line of both is written in digits alone: floats would take two large whole numbers for one.
class Floats : public InTurn {
 public:
  explicit Floats(const Texts& expected) : InTurn(expected, true, close) {
    whole_ = std::all_of(expected.begin(), expected.end(), digits);
  }

  bool meet(const std::string& line) override {
    whole_ = whole_ && (line.empty() || digits(line));
    return InTurn::meet(line);
  }

  bool end() const override { return !whole_ && InTurn::end(); }

 private:
  static bool digits(const std::string& line) {
    return !line.empty() && line.find_first_not_of("0123456789") == std::string::npos;
  }

  bool whole_;
};

// How a word counts; false where it cannot.
using Reading = bool (*)(std::string& word);

// Lines are sets of words, and the whole is a set of lines: neither order nor repetition counts.
class Sets : public Way {
 public:
  Sets(const Texts& expected, Reading read) : read_(read) {
    for (const std::string& line : expected) {
      std::set<std::string> words;
      possible_ = possible_ && gather(line, words, nullptr);
      known_.insert(words.begin(), words.end());
      met_[words] = false;
    }
  }

  bool meet(const std::string& line) override {
    std::set<std::string> words;
    if (!possible_ || !gather(line, words, &known_)) return false;
    if (words.empty()) return true;
    const auto found = met_.find(words);
    if (found == met_.end()) return false;
    found->second = true;
    return true;
  }

  bool end() const override {
    return possible_ && std::all_of(met_.begin(), met_.end(), [](const auto& line) { return line.second; });
  }

 private:
  // With `known` it stops at other words: a line of millions would fill our memory.
  bool gather(const std::string& line, std::set<std::string>& words, const std::set<std::string>* known) const {
    PythonWords all(line);
    for (std::string word = all.next(); !word.empty(); word = all.next()) {
      if (!read_(word) || (known && !known->count(word))) return false;
      words.insert(word);
    }
    return true;
  }

  Reading read_;
  bool possible_ = true;
  std::set<std::string> known_;
  std::map<std::set<std::string>, bool> met_;
};

// A number is what it is rounded to three places. What is not a number is not equal to itself either.
bool round_number(std::string& word) {
  double value;
  if (!read_float(word, value) || std::isnan(value)) return false;
  char text[400];
  std::snprintf(text, sizeof text, "%.3f", value);
  word = std::string(text) == "-0.000" ? "0.000" : text;
  return true;
}

Texts lines_of(int answer) {
  Texts found;
  Lines lines(answer, Lines::Ends::newline);
  for (std::string line; lines.next(line);) found.push_back(line);
  return found;
}

bool in_some_way(int output, int answer, bool prime) {
  const Reading as_it_is = [](std::string&) { return true; };
  const Texts written = lines_of(answer);
  Texts expected;
  for (const std::string& line : written)
    if (!line.empty()) expected.push_back(strip(line));

  std::vector<std::unique_ptr<Way>> ways;
  for (const bool strip_lines : {false, true}) ways.push_back(std::make_unique<Whole>(written, strip_lines));
  for (const bool skip_empty : {false, true}) ways.push_back(std::make_unique<InTurn>(expected, skip_empty, equal));
  if (prime) {
    ways.push_back(std::make_unique<Floats>(expected));
  } else {
    ways.push_back(std::make_unique<InTurn>(expected, true, close));
    for (const Reading read : {as_it_is, Reading(round_number)}) ways.push_back(std::make_unique<Sets>(expected, read));
  }

  Lines ours(output, Lines::Ends::python);
  for (std::string line; !ways.empty() && ours.next(line);)
    ways.erase(std::remove_if(ways.begin(), ways.end(), [&](const auto& way) { return !way->meet(line); }), ways.end());
  return std::any_of(ways.begin(), ways.end(), [](const auto& way) { return way->end(); });
}

}  // namespace

bool apps(int output, int answer) { return in_some_way(output, answer, false); }

bool prime_code(int output, int answer) { return in_some_way(output, answer, true); }

}  // namespace compare
