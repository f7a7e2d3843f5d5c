#include "plan.hpp"

#include <cstdlib>

#include "json.hpp"

namespace plan {
namespace {

constexpr int64_t version = 2;
constexpr int64_t backstop = 4LL << 30;
constexpr int64_t most_processes = 100, most_started = 16;
constexpr int64_t most_echo = 1 << 16;

int64_t micro(const json::Value& milliseconds, const char* what) {
  return milliseconds.is_null() ? process::unlimited : milliseconds.as_whole(what) * 1000;
}

double read_full(const json::Value& value, const char* what) {
  const double full = value.at("full").is_null() ? 1 : value.at("full").as_number(what);
  if (!(full > 0)) sys::fail(std::string(what) + ": a number above 0 expected");
  return full;
}

Warm read_warm(const json::Value& value) {
  Warm warm;
  if (value.is_null()) return warm;
  warm.library = file_name(value.at("library").as_text("submission.warm.library"), "submission.warm.library");
  warm.script = file_name(value.at("script").as_text("submission.warm.script"), "submission.warm.script");
  warm.modules = value.at("modules").texts("submission.warm.modules");
  return warm;
}

Submission read_submission(const json::Value& value) {
  Submission submission;
  submission.argv = value.at("argv").texts("submission.argv");
  for (const std::string& name : value.at("files").texts("submission.files"))
    submission.files.push_back(file_name(name, "submission.files"));
  for (const auto& variable : value.at("env").object)
    submission.env.push_back(variable.first + "=" + variable.second.as_text("submission.env"));
  submission.threads = static_cast<int>(value.at("threads").whole_or(1, "submission.threads"));
  const int64_t processes = value.at("processes").whole_or(1, "submission.processes");
  if (processes < 1 || processes > most_started)
    sys::fail("submission.processes: a number from 1 to " + std::to_string(most_started) + " expected");
  submission.processes = static_cast<int>(processes);
  submission.proc = value.at("proc").boolean_or(false, "submission.proc");
  submission.streams = value.at("streams").boolean_or(false, "submission.streams");
  submission.warm = read_warm(value.at("warm"));
  submission.address_space = value.at("address_space").boolean_or(false, "submission.address_space");
  return submission;
}

Manager read_manager(const json::Value& value) {
  Manager manager;
  manager.argv = value.at("argv").texts("manager.argv");
  manager.kind = value.at("kind").text_or("cms", "manager.kind");
  manager.limits = read_limits(value.at("limits"), "output");
  manager.again = value.at("again").text_or("", "manager.again");
  if (!manager.again.empty() && manager.again != "alone" && manager.again != "together")
    sys::fail("manager.again: alone or together expected, not " + manager.again);
  manager.given = value.at("given").texts("manager.given");
  manager.full = read_full(value, "manager.full");
  return manager;
}

// As it was written: the `double` next to 1e-6 is less, and refuses words that are 1e-6 apart.
long double read_tolerance(const json::Value& value, const char* what) {
  if (value.is_null()) return -1;
  value.as_number(what);
  return std::strtold(value.text.c_str(), nullptr);
}

Checker read_checker(const json::Value& value) {
  Checker checker;
  checker.kind = value.at("kind").as_text("checker.kind");
  checker.argv = value.at("argv").texts("checker.argv");
  checker.given = value.at("given").texts("checker.given");
  checker.limits = read_limits(value.at("limits"), "output");
  checker.case_sensitive = value.at("case_sensitive").boolean_or(true, "checker.case_sensitive");
  checker.space_sensitive = value.at("space_sensitive").boolean_or(false, "checker.space_sensitive");
  checker.absolute = read_tolerance(value.at("absolute"), "checker.absolute");
  checker.relative = read_tolerance(value.at("relative"), "checker.relative");
  checker.full = read_full(value, "checker.full");
  checker.passes = static_cast<int>(value.at("passes").whole_or(1, "checker.passes"));
  checker.decides = value.at("decides").boolean_or(false, "checker.decides");
  return checker;
}

bool read_user_io(const json::Value& value) {
  const std::string name = value.text_or("std_io", "user_io");
  if (name != "std_io" && name != "fifo_io") sys::fail("user_io: std_io or fifo_io expected, not " + name);
  return name == "fifo_io";
}

int read_processes(const json::Value& value) {
  const int64_t processes = value.whole_or(1, "processes");
  if (processes < 1 || processes > most_processes)
    sys::fail("processes: a number from 1 to " + std::to_string(most_processes) + " expected");
  return static_cast<int>(processes);
}

size_t read_echo(const json::Value& value) {
  const int64_t bytes = value.whole_or(0, "echo");
  if (bytes < 0 || bytes > most_echo) sys::fail("echo: a number from 0 to " + std::to_string(most_echo) + " expected");
  return static_cast<size_t>(bytes);
}

Group read_group(const json::Value& value) {
  Group group;
  const std::string& rule = value.at("rule").as_text("groups.rule");
  if (rule == "zero") {
    group.rule = Group::Rule::zero;
  } else if (rule == "threshold") {
    group.rule = Group::Rule::threshold;
    group.threshold = value.at("threshold").as_number("groups.threshold");
  } else if (rule != "never") {
    sys::fail("groups.rule: zero, threshold or never expected, not " + rule);
  }
  return group;
}

Test read_test(const json::Value& value, size_t groups) {
  Test test;
  test.index = value.at("index").as_whole("tests.index");
  test.input = file_name(value.at("input").as_text("tests.input"), "tests.input");
  if (!value.at("answer").is_null())
    test.answer = file_name(value.at("answer").as_text("tests.answer"), "tests.answer");
  if (!value.at("output").is_null())
    test.output = file_name(value.at("output").as_text("tests.output"), "tests.output");
  test.by_file = value.at("by_file").boolean_or(false, "tests.by_file");
  test.arguments = value.at("arguments").texts("tests.arguments");
  for (const json::Value& group : value.at("groups").as_list("tests.groups")) {
    const int64_t index = group.as_whole("tests.groups");
    if (index < 0 || index >= static_cast<int64_t>(groups))
      sys::fail("tests.groups: there is no group " + std::to_string(index));
    test.groups.push_back(static_cast<size_t>(index));
  }
  return test;
}

std::string task_file(const json::Value& value, const char* what) {
  const std::string name = value.text_or("", what);
  if (name.find('/') != std::string::npos || name == "." || name == "..")
    sys::fail(std::string(what) + ": a file name expected");
  return name;
}

}  // namespace

process::Limits read_limits(const json::Value& value, const char* largest_file) {
  process::Limits limits;
  limits.cpu_us = micro(value.at("cpu_ms"), "limits.cpu_ms");
  limits.crowded_cpu_us = micro(value.at("crowded_cpu_ms"), "limits.crowded_cpu_ms");
  limits.wall_us = micro(value.at("wall_ms"), "limits.wall_ms");
  limits.hard_us = micro(value.at("hard_ms"), "limits.hard_ms");
  limits.memory = value.at("memory").whole_or(process::unlimited, "limits.memory");
  limits.file_size = value.at(largest_file).whole_or(process::unlimited,
      (std::string("limits.") + largest_file).c_str());
  limits.cuts = value.at("cuts").boolean_or(false, "limits.cuts");
  limits.processes = value.at("processes").whole_or(process::unlimited, "limits.processes");
  limits.disk = value.at("disk").whole_or(process::unlimited, "limits.disk");
  limits.names = value.at("names").whole_or(process::unlimited, "limits.names");
  return limits;
}

std::string file_name(const std::string& name, const char* what) {
  if (name.empty() || name[0] == '/' || ("/" + name + "/").find("/../") != std::string::npos ||
      name.find('\0') != std::string::npos)
    sys::fail(std::string(what) + ": a name inside the job's folder expected");
  return name;
}

Plan parse(const std::string& source) {
  const json::Value value = json::parse(source);
  Plan plan;
  plan.nonce = value.at("nonce").as_text("nonce");
  if (value.at("version").as_whole("version") != version) sys::fail("version: this proctor reads plans of version 2");
  plan.task_type = value.at("task_type").as_text("task_type");
  plan.submission = read_submission(value.at("submission"));
  if (plan.submission.argv.empty() && plan.task_type != "OutputOnly") sys::fail("submission.argv: a program expected");
  plan.limits = read_limits(value.at("limits"), "output");
  if (plan.submission.address_space && plan.limits.memory != process::unlimited)
    plan.limits.address_space = plan.limits.memory + backstop;
  plan.input_file = task_file(value.at("input_file"), "input_file");
  plan.output_file = task_file(value.at("output_file"), "output_file");
  plan.checker = read_checker(value.at("checker"));
  plan.manager = read_manager(value.at("manager"));
  plan.processes = read_processes(value.at("processes"));
  plan.fifo_io = read_user_io(value.at("user_io"));
  for (const json::Value& group : value.at("groups").as_list("groups")) plan.groups.push_back(read_group(group));
  for (const json::Value& test : value.at("tests").as_list("tests"))
    plan.tests.push_back(read_test(test, plan.groups.size()));
  plan.layers = sandbox::Layers::of(value);
  plan.allow_unconfined = value.at("allow_unconfined").boolean_or(false, "allow_unconfined");
  plan.alone = value.at("alone").boolean_or(false, "alone");
  plan.echo = read_echo(value.at("echo"));
  plan.show = value.at("show").boolean_or(false, "show");
  plan.readable = value.at("read").texts("read");
  return plan;
}

}  // namespace plan
