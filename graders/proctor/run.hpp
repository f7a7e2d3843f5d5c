#pragma once

#include <string>

#include "room.hpp"

namespace run {

// proctor run PLAN. Returns the exit code.
int command(const std::string& path, room::Layers layers);

}  // namespace run
