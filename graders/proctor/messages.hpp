// What the proctor and an interpreter that waits say to each other: plain bytes between two programs of the same
// sources, and descriptors.
#pragma once

#include <string>
#include <vector>

#include "process.hpp"

namespace messages {

struct Message {
  std::string bytes;
  std::vector<int> fds;  // of one that was received: to be closed by who received it
};

// Whether it went through.
bool send(int socket, const Message& message);

// False when the other end is closed.
bool receive(int socket, Message& message);

// `shared`: as Room says it of the one there.
Message sandbox_message(const sandbox::Sandbox& sandbox, const std::string& shared_folder);
sandbox::Sandbox read_sandbox(const Message& message);  // takes the descriptors over

// Of a program that `instead` goes on with: its words are the interpreter's already.
Message program_message(const process::Program& program, int report);

// The descriptor of the report is the first.
process::Program read_program(const Message& message);

}  // namespace messages
