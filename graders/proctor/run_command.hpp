#pragma once

#include <string>

namespace run_command {

// proctor run PLAN. Returns the exit code.
int command(const std::string& path);

// proctor stand. Reads names of plans, one in a line, and judges each as `command` does.
int stand();

}  // namespace run_command
