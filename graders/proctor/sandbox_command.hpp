#pragma once

#include <string>

namespace sandbox_command {

// proctor box SPEC: one program in a box, with a report at the end. Returns the exit code.
int run_spec(const std::string& path);

}  // namespace sandbox_command
