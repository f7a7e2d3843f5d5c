#pragma once

#include <string>

namespace run_command {

// The command `proctor run PLAN`. Returns the exit code.
int judge_plan_file(const std::string& path);

// The command `proctor stand`: reads lines with the name of a plan, and judges each plan like `judge_plan_file`.
int judge_plans_from_stdin();

}  // namespace run_command
