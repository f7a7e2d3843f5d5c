// The plan of a run job, as docs/protocol.md describes it.
#pragma once

#include <string>
#include <vector>

#include "process.hpp"

namespace plan {

// What an interpreter waits with that forks a process for each test.
struct Warm {
  std::string library, script;       // names of the job's files; empty: programs are started
  std::vector<std::string> modules;  // imported beforehand
};

struct Submission {
  std::vector<std::string> argv, files, env;
  int threads = 1;
  int processes = 1;  // itself and all that it starts; more than one for a package's own runner only
  bool proc = false, streams = false, address_space = false;
  Warm warm;
};

struct Checker {
  std::string kind;
  std::vector<std::string> argv;
  process::Limits limits;
  bool case_sensitive = true, space_sensitive = false;  // tokens
  // Tolerances for numbers; negative: numbers are words like others.
  long double absolute = -1, relative = -1;
  double full = 1;                                      // icpc: the number in score.txt that is worth everything
  std::vector<std::string> given;                       // arguments in the place of its kind's; empty: its kind's
  int passes = 1;                                       // icpc: how often a submission may run
  bool decides = false;  // on whatever is written: an output on which it fails is wrong, if not all are so
};

// The program on the other side: a Communication task's manager, an interactor.
struct Manager {
  std::vector<std::string> argv;  // empty: there is none
  std::string kind;               // how it says what the submission is worth, in the words of checkers
  process::Limits limits;
  // Interactive: who is there when the submission runs a second time, on what the interactor wrote: `alone`, or it
  // and the interactor, `together`; empty: it runs once.
  std::string again;
  std::vector<std::string> given;  // Interactive: arguments in the place of its kind's; empty: its kind's
  double full = 1;                // icpc: the number in score.txt that is worth everything
};

struct Group {
  enum class Rule { zero, threshold, never } rule = Rule::never;
  double threshold = 1;
};

struct Test {
  int64_t index = 0;
  std::string input, answer;  // names of the job's files; an answer may be empty
  std::string output;         // the file that was handed in, where the task takes files; empty: it was not
  bool by_file = false;       // BatchAndOutput: judged by the file, handed in or not
  std::vector<std::string> arguments;  // of the checker or the interactor, behind its own
  std::vector<size_t> groups;
};

struct Plan {
  std::string nonce, task_type, input_file, output_file;
  Submission submission;
  process::Limits limits;
  Checker checker;
  Manager manager;
  int processes = 1;
  bool fifo_io = false;
  std::vector<Group> groups;
  std::vector<Test> tests;
  sandbox::Layers layers;
  bool allow_unconfined = false;
  bool alone = false;  // nothing else of the judge's goes on
  std::vector<std::string> readable;  // folders beyond the system's, for an interpreter that lies there
  size_t echo = 0;  // bytes of a wrong output that its line repeats
  bool show = false;  // lines repeat any output, and the error text, of so many bytes
};

// Of a program, whatever it is. Lengths of time are in ms; `largest_file` is the name of that limit.
process::Limits read_limits(const json::Value& value, const char* largest_file);

// Both fail (sys::Failure) with the field that is wrong.
Plan parse(const std::string& source);
std::string file_name(const std::string& name, const char* what);  // the name, if it stays inside the job's folder

}  // namespace plan
