// Messages between the proctor and a fork server: plain bytes and descriptors. Both programs are built from the same
// sources.
#pragma once

#include <string>
#include <vector>

#include "process.hpp"

namespace messages {

// Bytes and descriptors that are sent together.
struct ForkServerMessage {
  std::string bytes;
  std::vector<int> fds;  // descriptors that the receiver must close
};

// Sends a message. Returns whether it was sent.
bool send_message(int socket, const ForkServerMessage& message);

// Receives the next message. Returns false if the sender has closed the socket.
bool receive_message(int socket, ForkServerMessage& message);

// Encodes a sandbox. `shared_folder` replaces the field of that name.
ForkServerMessage encode_sandbox(const sandbox::Sandbox& sandbox, const std::string& shared_folder);
sandbox::Sandbox decode_sandbox(const ForkServerMessage& message);  // owns the message's descriptors afterwards

// Encodes a program that runs by `entry_point`; the interpreter already has its arguments and environment.
ForkServerMessage encode_program(const process::Program& program, int report_pipe);

// Decodes a program. The message's first descriptor is the report's.
process::Program decode_program(const ForkServerMessage& message);

}  // namespace messages
