// Why a compiled program cannot be started: a source may bring sections that make its program one that no kernel
// starts.
#pragma once

namespace elf {

// Whether the program itself is to blame for the error that execve ended with, and not the machine that it lies on.
bool is_invalid_program(int program, int error);

}  // namespace elf
