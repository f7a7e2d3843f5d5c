#pragma once

#include <string>

namespace run_command {

// The command `proctor run PLAN`. Returns the exit code.
int judge_plan_file(const std::string& path);

// The command `proctor stand`: reads names of plans, one per line, and judges each of them like `judge_plan_file`.
int judge_plans_from_stdin();

}  // namespace run_command
