#pragma once

#include <string>

namespace run_command {

// The command `proctor run PLAN`. Returns the exit code.
int run_plan_command(const std::string& plan_path);

// The command `proctor stand`: reads lines with the name of a plan, and judges each plan like `run_plan_command`.
int run_stdin_plans_command();

}  // namespace run_command
