#pragma once

#include <string>

namespace run_command {

// proctor run PLAN. Returns the exit code.
int judge_plan_file(const std::string& path);

// proctor stand. Reads names of plans, one in a line, and judges each as `command` does.
int judge_plans_from_stdin();

}  // namespace run_command
