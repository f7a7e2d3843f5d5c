#include "plan.hpp"

#include <cstdlib>

#include "json.hpp"

namespace plan {
namespace {

constexpr int64_t version = 2;
constexpr int64_t reserved_address_space_bytes = 4LL << 30;
constexpr int64_t max_processes = 100, max_started_processes = 16;
constexpr int64_t max_shown_output_bytes = 1 << 16;

int64_t read_microseconds(const json::Value& milliseconds, const char* field_name) {
  return milliseconds.is_null() ? process::unlimited : milliseconds.as_integer(field_name) * 1000;
}

double read_full_score(const json::Value& value, const char* field_name) {
  const double full_score = value.at("full").is_null() ? 1 : value.at("full").as_number(field_name);
  if (!(full_score > 0)) sys::fail(std::string(field_name) + ": a number above 0 expected");
  return full_score;
}

ForkServerFiles read_fork_server(const json::Value& value) {
  ForkServerFiles files;
  if (value.is_null()) return files;
  files.library =
      require_job_file_name(value.at("library").as_text("submission.warm.library"), "submission.warm.library");
  files.script = require_job_file_name(value.at("script").as_text("submission.warm.script"), "submission.warm.script");
  files.modules = value.at("modules").as_strings("submission.warm.modules");
  return files;
}

Submission read_submission(const json::Value& value) {
  Submission submission;
  submission.argv = value.at("argv").as_strings("submission.argv");
  for (const std::string& name : value.at("files").as_strings("submission.files"))
    submission.files.push_back(require_job_file_name(name, "submission.files"));
  for (const auto& variable : value.at("env").object)
    submission.env.push_back(variable.first + "=" + variable.second.as_text("submission.env"));
  submission.max_threads = static_cast<int>(value.at("threads").integer_or(1, "submission.threads"));
  const int64_t processes = value.at("processes").integer_or(1, "submission.processes");
  if (processes < 1 || processes > max_started_processes)
    sys::fail("submission.processes: a number from 1 to " + std::to_string(max_started_processes) + " expected");
  submission.max_processes = static_cast<int>(processes);
  submission.sees_proc = value.at("proc").boolean_or(false, "submission.proc");
  submission.sees_own_descriptors = value.at("streams").boolean_or(false, "submission.streams");
  submission.fork_server = read_fork_server(value.at("warm"));
  submission.limits_address_space = value.at("address_space").boolean_or(false, "submission.address_space");
  return submission;
}

Manager read_manager(const json::Value& value) {
  Manager manager;
  manager.argv = value.at("argv").as_strings("manager.argv");
  manager.kind = value.at("kind").text_or("cms", "manager.kind");
  manager.limits = read_limits(value.at("limits"), "output");
  manager.second_run = value.at("again").text_or("", "manager.again");
  if (!manager.second_run.empty() && manager.second_run != "alone" && manager.second_run != "together")
    sys::fail("manager.again: alone or together expected, not " + manager.second_run);
  manager.arguments = value.at("given").as_strings("manager.given");
  manager.full_score = read_full_score(value, "manager.full");
  return manager;
}

// Reads the spelling of the number: the `double` closest to 1e-6 is smaller, and would reject numbers that differ by
// 1e-6.
long double read_tolerance(const json::Value& value, const char* field_name) {
  if (value.is_null()) return -1;
  value.as_number(field_name);
  return std::strtold(value.text.c_str(), nullptr);
}

Checker read_checker(const json::Value& value) {
  Checker checker;
  checker.kind = value.at("kind").as_text("checker.kind");
  checker.argv = value.at("argv").as_strings("checker.argv");
  checker.arguments = value.at("given").as_strings("checker.given");
  checker.limits = read_limits(value.at("limits"), "output");
  checker.case_sensitive = value.at("case_sensitive").boolean_or(true, "checker.case_sensitive");
  checker.space_sensitive = value.at("space_sensitive").boolean_or(false, "checker.space_sensitive");
  checker.absolute_tolerance = read_tolerance(value.at("absolute"), "checker.absolute");
  checker.relative_tolerance = read_tolerance(value.at("relative"), "checker.relative");
  checker.full_score = read_full_score(value, "checker.full");
  checker.max_passes = static_cast<int>(value.at("passes").integer_or(1, "checker.passes"));
  checker.failure_means_wrong = value.at("decides").boolean_or(false, "checker.decides");
  return checker;
}

bool uses_fifo_io(const json::Value& value) {
  const std::string name = value.text_or("std_io", "user_io");
  if (name != "std_io" && name != "fifo_io") sys::fail("user_io: std_io or fifo_io expected, not " + name);
  return name == "fifo_io";
}

int read_process_count(const json::Value& value) {
  const int64_t processes = value.integer_or(1, "processes");
  if (processes < 1 || processes > max_processes)
    sys::fail("processes: a number from 1 to " + std::to_string(max_processes) + " expected");
  return static_cast<int>(processes);
}

size_t read_max_shown_output_bytes(const json::Value& value) {
  const int64_t max_bytes = value.integer_or(0, "echo");
  if (max_bytes < 0 || max_bytes > max_shown_output_bytes)
    sys::fail("echo: a number from 0 to " + std::to_string(max_shown_output_bytes) + " expected");
  return static_cast<size_t>(max_bytes);
}

TestGroup read_group(const json::Value& value) {
  TestGroup group;
  const std::string& rule = value.at("rule").as_text("groups.rule");
  if (rule == "zero") {
    group.rule = TestGroup::Rule::zero;
  } else if (rule == "threshold") {
    group.rule = TestGroup::Rule::threshold;
    group.threshold = value.at("threshold").as_number("groups.threshold");
  } else if (rule != "never") {
    sys::fail("groups.rule: zero, threshold or never expected, not " + rule);
  }
  return group;
}

Test read_test(const json::Value& value, size_t group_count) {
  Test test;
  test.index = value.at("index").as_integer("tests.index");
  test.input = require_job_file_name(value.at("input").as_text("tests.input"), "tests.input");
  if (!value.at("answer").is_null())
    test.answer = require_job_file_name(value.at("answer").as_text("tests.answer"), "tests.answer");
  if (!value.at("output").is_null())
    test.submitted_output = require_job_file_name(value.at("output").as_text("tests.output"), "tests.output");
  test.is_judged_by_file = value.at("by_file").boolean_or(false, "tests.by_file");
  test.arguments = value.at("arguments").as_strings("tests.arguments");
  for (const json::Value& group : value.at("groups").as_list("tests.groups")) {
    const int64_t index = group.as_integer("tests.groups");
    if (index < 0 || index >= static_cast<int64_t>(group_count))
      sys::fail("tests.groups: there is no group " + std::to_string(index));
    test.groups.push_back(static_cast<size_t>(index));
  }
  return test;
}

std::string read_task_file(const json::Value& value, const char* field_name) {
  const std::string name = value.text_or("", field_name);
  if (name.find('/') != std::string::npos || name == "." || name == "..")
    sys::fail(std::string(field_name) + ": a file name expected");
  return name;
}

}  // namespace

process::Limits read_limits(const json::Value& value, const char* file_size_field) {
  process::Limits limits;
  limits.cpu_us = read_microseconds(value.at("cpu_ms"), "limits.cpu_ms");
  limits.crowded_cpu_us = read_microseconds(value.at("crowded_cpu_ms"), "limits.crowded_cpu_ms");
  limits.wall_us = read_microseconds(value.at("wall_ms"), "limits.wall_ms");
  limits.elapsed_us = read_microseconds(value.at("hard_ms"), "limits.hard_ms");
  limits.memory_bytes = value.at("memory").integer_or(process::unlimited, "limits.memory");
  limits.file_size_bytes =
      value.at(file_size_field).integer_or(process::unlimited, (std::string("limits.") + file_size_field).c_str());
  limits.truncates_output = value.at("cuts").boolean_or(false, "limits.cuts");
  limits.processes = value.at("processes").integer_or(process::unlimited, "limits.processes");
  limits.disk_bytes = value.at("disk").integer_or(process::unlimited, "limits.disk");
  limits.disk_entries = value.at("names").integer_or(process::unlimited, "limits.names");
  return limits;
}

std::string require_job_file_name(const std::string& name, const char* field_name) {
  if (name.empty() || name[0] == '/' || ("/" + name + "/").find("/../") != std::string::npos ||
      name.find('\0') != std::string::npos)
    sys::fail(std::string(field_name) + ": a name inside the job's folder expected");
  return name;
}

Plan parse_plan(const std::string& source) {
  const json::Value value = json::parse(source);
  Plan plan;
  plan.nonce = value.at("nonce").as_text("nonce");
  if (value.at("version").as_integer("version") != version) sys::fail("version: this proctor reads plans of version 2");
  plan.task_type = value.at("task_type").as_text("task_type");
  plan.submission = read_submission(value.at("submission"));
  if (plan.submission.argv.empty() && plan.task_type != "OutputOnly") sys::fail("submission.argv: a program expected");
  plan.limits = read_limits(value.at("limits"), "output");
  if (plan.submission.limits_address_space && plan.limits.memory_bytes != process::unlimited)
    plan.limits.address_space_bytes = plan.limits.memory_bytes + reserved_address_space_bytes;
  plan.input_file = read_task_file(value.at("input_file"), "input_file");
  plan.output_file = read_task_file(value.at("output_file"), "output_file");
  plan.checker = read_checker(value.at("checker"));
  plan.manager = read_manager(value.at("manager"));
  plan.process_count = read_process_count(value.at("processes"));
  plan.uses_fifos = uses_fifo_io(value.at("user_io"));
  for (const json::Value& group : value.at("groups").as_list("groups")) plan.groups.push_back(read_group(group));
  for (const json::Value& test : value.at("tests").as_list("tests"))
    plan.tests.push_back(read_test(test, plan.groups.size()));
  plan.layers = sandbox::SandboxLayers::parse(value);
  plan.allow_unconfined = value.at("allow_unconfined").boolean_or(false, "allow_unconfined");
  plan.is_exclusive = value.at("alone").boolean_or(false, "alone");
  plan.max_shown_output_bytes = read_max_shown_output_bytes(value.at("echo"));
  plan.shows_all_output = value.at("show").boolean_or(false, "show");
  plan.readable_paths = value.at("read").as_strings("read");
  return plan;
}

}  // namespace plan
