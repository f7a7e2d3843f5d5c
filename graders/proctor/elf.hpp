// Detects compiled programs that no kernel starts, because their source added ELF sections.
#pragma once

namespace elf {

// Returns whether an execve error is the fault of the program file and not of the machine.
bool is_invalid_program(int program_fd, int error);

}  // namespace elf
