#pragma once

#include <string>

namespace run {

// proctor run PLAN. Returns the exit code.
int command(const std::string& path);

}  // namespace run
