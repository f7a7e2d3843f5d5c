// Several processes of one submission that run at the same time and are judged as one.
#pragma once

#include <functional>
#include <vector>

#include "task.hpp"

namespace task {

// One of them.
struct Member {
  process::Running running;
  sys::Fd error;  // what it wrote to its standard error
};

// A task type of several programs that run at the same time.
class Together : public Task {
 public:
  using Task::Task;

 protected:
  // Starts one of the submission's processes, after `arrange` has given it its descriptors and arguments.
  Member start(idling::Clock& clock, size_t member, const std::function<void(process::Program&)>& arrange) const;
};

enum class CpuTime { summed, each };  // what the limit holds for

// CPU time is summed and, if so asked, measured against the limit together, memory is summed for the report, wall time
// is the longest. The first cause counts: a limit before an exit code or signal, which the end of a partner may have
// brought about. Fails (sys::Failure) when one of the boxes could not be made.
verdict::Verdict wait_for(std::vector<Member>& members, const process::Limits& limits, CpuTime cpu_time);

// Whether the one who judges ended at a limit of its own because the submission had more to say than an output may
// hold.
bool drowned(const process::Outcome& judge, const verdict::Verdict& verdict, const process::Limits& limits);

}  // namespace task
