// The plan of a run job. See docs/protocol.md.
#pragma once

#include <string>
#include <vector>

#include "process.hpp"

namespace plan {

// Files and modules with which a fork server is started.
struct ForkServerFiles {
  std::string library, script;       // names of the job's files, or empty if each test starts a program
  std::vector<std::string> modules;  // modules that are imported before the first fork
};

// The submission's program and its permissions.
struct Submission {
  std::vector<std::string> argv, files, env;
  int max_threads = 1;
  int max_processes = 1;  // maximum number of processes ever started; above 1 only for a package's own runner
  bool sees_proc = false, sees_own_descriptors = false, limits_address_space = false;
  ForkServerFiles fork_server;
};

// How outputs are judged: a built-in comparison, or a checker program.
struct Checker {
  std::string kind;
  std::vector<std::string> argv;
  process::Limits limits;
  bool case_sensitive = true, space_sensitive = false;  // how tokens are compared
  // Tolerances for numbers; negative means that numbers are compared as strings.
  long double absolute_tolerance = -1, relative_tolerance = -1;
  double full_score = 1;               // icpc: the number in score.txt that means full marks
  std::vector<std::string> arguments;  // unless empty, replaces the arguments of the checker's kind
  int max_passes = 1;                  // icpc: maximum number of passes
  // whether an output is wrong if the checker fails on it, unless the checker fails on all outputs
  bool failure_means_wrong = false;
};

// The problem's program that talks to the submission: the manager of a Communication task, or an interactor.
struct Manager {
  std::vector<std::string> argv;  // command of the program, or empty if the problem has no such program
  std::string kind;               // kind of checker by whose rules the program's result is read
  process::Limits limits;
  // Interactive: the programs of a second run, whose input is the interactor's output: `alone` is the submission,
  // `together` is the submission and the interactor. Empty means a single run.
  std::string second_run;
  std::vector<std::string> arguments;  // Interactive: unless empty, replaces the arguments of the kind
  double full_score = 1;               // icpc: the number in score.txt that means full marks
};

// A group of tests, with the rule that decides when its score can no longer change.
struct TestGroup {
  enum class Rule { zero, threshold, never } rule = Rule::never;
  double threshold = 1;
};

// One test of the problem.
struct Test {
  int64_t index = 0;
  std::string input, answer;           // names of the job's files; `answer` may be empty
  std::string submitted_output;        // name of the submitted file, or empty if no file was submitted
  bool is_judged_by_file = false;      // BatchAndOutput: whether only a submitted file counts
  std::vector<std::string> arguments;  // further arguments of the checker or interactor
  std::vector<size_t> groups;
};

struct Plan {
  std::string nonce, task_type, input_file, output_file;
  Submission submission;
  process::Limits limits;
  Checker checker;
  Manager manager;
  int process_count = 1;
  bool uses_fifos = false;
  std::vector<TestGroup> groups;
  std::vector<Test> tests;
  sandbox::SandboxLayers layers;
  bool allow_unconfined = false;
  bool is_exclusive = false;                // whether no other job of this judge runs
  std::vector<std::string> readable_paths;  // folders that an interpreter needs in addition to the system's folders
  size_t max_shown_output_bytes = 0;        // maximum number of bytes of a wrong output that a verdict line repeats
  // whether verdict lines repeat every output and error text, up to `max_shown_output_bytes`
  bool shows_all_output = false;
};

// Reads the limits of any program. Times are in ms. `file_size_field` is the name of the file size limit.
process::Limits read_limits(const json::Value& value, const char* file_size_field);

// Parses a plan. Fails (sys::Failure) with the name of the wrong field.
Plan parse_plan(const std::string& source);

// Returns `name` if it names a file inside the job's folder. Fails otherwise.
std::string require_job_file_name(const std::string& name, const char* field_name);

}  // namespace plan
