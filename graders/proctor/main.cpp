// The proctor's commands. docs/protocol.md describes their input and output.
#include <cstdio>
#include <cstring>
#include <sys/resource.h>

#include "sandbox_command.hpp"
#include "system_calls.hpp"
#include "sandbox.hpp"
#include "run_command.hpp"

namespace {

constexpr const char* usage =
    "proctor run PLAN   judge a submission on the tests of a plan; verdict lines on standard output\n"
    "proctor stand      judge one plan after another; names of bundles with their files are read from standard input\n"
    "proctor box SPEC   run one program in a sandbox; a report goes to the descriptor that the spec names\n"
    "proctor probe      print what would confine a program here\n"
    "proctor profile    print which system calls each profile may make, and why\n";

// Raises the limit of open files: a job may have a thousand files, each of which stays open.
void raise_descriptor_limit() {
  rlimit open_files;
  if (getrlimit(RLIMIT_NOFILE, &open_files) != 0) return;
  open_files.rlim_cur = open_files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &open_files);
}

int run_probe_command() {
  try {
    sandbox::drop_privileges(0, sandbox::SandboxLayers());
    std::puts(sandbox::enter_sandbox(".", {}, sandbox::SandboxLayers(), true).format_confinement().c_str());
    return 0;
  } catch (const sys::Failure& failure) {
    std::fprintf(stderr, "proctor: %s\n", failure.message.c_str());
    return 2;
  }
}

}  // namespace

int main(int argc, char** argv) {
  raise_descriptor_limit();
  if (argc == 3 && std::strcmp(argv[1], "run") == 0) return run_command::run_plan_command(argv[2]);
  if (argc == 2 && std::strcmp(argv[1], "stand") == 0) return run_command::run_stdin_plans_command();
  if (argc == 3 && std::strcmp(argv[1], "box") == 0) return sandbox_command::run_sandbox_command(argv[2]);
  if (argc == 2 && std::strcmp(argv[1], "probe") == 0) return run_probe_command();
  if (argc == 2 && std::strcmp(argv[1], "profile") == 0)
    return std::fputs(system_calls::format_system_call_table().c_str(), stdout) < 0;
  std::fputs(usage, stderr);
  return 2;
}
