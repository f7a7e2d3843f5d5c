#pragma once

#include <string>

namespace sandbox_command {

// The command `proctor box SPEC`: runs a program in a sandbox and writes a report. Returns the exit code.
int run_sandbox_command(const std::string& spec_path);

}  // namespace sandbox_command
