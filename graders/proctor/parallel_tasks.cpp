// Task types in which several programs run at the same time.
#include <algorithm>
#include <csignal>
#include <functional>
#include <poll.h>
#include <utility>
#include <vector>

#include "child.hpp"
#include "pipes.hpp"
#include "task.hpp"

namespace task {
namespace {

// A process of a submission whose processes are judged together.
struct SubmissionProcess {
  process::RunningProgram program;
  int error_fd;  // descriptor of the file with its standard error
};

// Whether the CPU limit applies to the CPU time of all processes together, or to each process.
enum class CpuLimitScope { sum_of_processes, each_process };

// Returns whether the reason is an exceeded limit, not an exit code or signal.
bool is_limit_exceeded(verdict::EndReason end_reason) {
  return end_reason != verdict::EndReason::ok && end_reason != verdict::EndReason::exit &&
      end_reason != verdict::EndReason::signal;
}

// Adds the ending of a process to the verdict of all processes.
void add_process_ending(
    verdict::Verdict& verdict, const process::Ending& ending, verdict::EndReason end_reason, int error_fd) {
  verdict.ending.cpu_us += ending.cpu_us;
  verdict.ending.memory_bytes += ending.memory_bytes;
  verdict.ending.written_bytes += ending.written_bytes;
  verdict.ending.wall_us = std::max(verdict.ending.wall_us, ending.wall_us);
  verdict.ending.waited_us += ending.waited_us;
  verdict.ending.is_stalled = verdict.ending.is_stalled || ending.is_stalled;
  verdict.ending.is_killed_from_outside = verdict.ending.is_killed_from_outside || ending.is_killed_from_outside;
  verdict.ending.is_machine_crowded = verdict.ending.is_machine_crowded || ending.is_machine_crowded;
  const bool is_graver = verdict.end_reason == verdict::EndReason::ok
      ? end_reason != verdict::EndReason::ok
      : is_limit_exceeded(end_reason) && !is_limit_exceeded(verdict.end_reason);
  if (!is_graver) return;
  verdict.end_reason = end_reason;
  verdict.ending.exit_code = ending.exit_code;
  verdict.ending.signal = ending.signal;
  verdict.feedback = summarize_error(error_fd);
}

// Waits for all processes and returns their common ending. CPU time is summed, and with
// `CpuLimitScope::sum_of_processes` the limit applies to the sum. Memory is summed for the report; the wall time is the
// longest. The first reason counts, but a limit has precedence over an exit code or signal, which the exit of a
// partner may have caused. Fails (sys::Failure) if a sandbox could not be created.
verdict::Verdict wait_for_processes(
    std::vector<SubmissionProcess>& processes, const process::Limits& limits, CpuLimitScope cpu_limit_scope) {
  verdict::Verdict verdict;
  std::string failure;
  for (SubmissionProcess& submission_process : processes) {
    const process::Ending ending = submission_process.program.wait_for_ending();
    if (!ending.failure.empty()) failure = ending.failure;
    const int64_t error_bytes = files::read_size_bytes(submission_process.error_fd);
    add_process_ending(verdict, ending, find_end_reason(ending, limits, error_bytes), submission_process.error_fd);
  }
  if (!failure.empty()) sys::fail(failure, verdict.ending.is_killed_from_outside);
  if (!is_limit_exceeded(verdict.end_reason) && verdict.ending.is_killed_from_outside)
    fail_because_killed_from_outside();
  if (cpu_limit_scope == CpuLimitScope::sum_of_processes && !is_limit_exceeded(verdict.end_reason) &&
      limits.cpu_us != process::unlimited &&
      verdict.ending.cpu_us >= process::find_cpu_limit_us(limits, verdict.ending.is_machine_crowded))
    verdict.end_reason = verdict::EndReason::cpu;
  return verdict;
}

// Returns whether the judge's program was killed at its limit after the submission had exceeded the limit of an output.
bool is_judge_killed_after_large_output(
    const process::Ending& judge_ending, const verdict::Verdict& verdict, const process::Limits& limits) {
  return judge_ending.kill_reason != process::KillReason::none && limits.file_size_bytes != process::unlimited &&
      verdict.ending.written_bytes > limits.file_size_bytes;
}

// A task whose programs run at the same time.
class ParallelTask : public Task {
 public:
  using Task::Task;

 protected:
  // Starts a process of the submission. `configure_program` sets its descriptors and arguments.
  SubmissionProcess start_process(idle_time::IdleClock& clock, size_t clock_index,
      const std::function<void(process::Program&)>& configure_program) const {
    const int error_fd = streams_.get_empty_file("error", clock_index);
    const sys::Fd error_writer = files::reopen_write_only(error_fd);
    process::Program program = make_submission_program();
    program.clock = &clock;
    program.clock_index = clock_index;
    program.error = error_writer.get();
    configure_program(program);
    return {process::start_program(sandbox_, program), error_fd};
  }

  // Starts the manager or interactor.
  process::RunningProgram start_judge_program(process::Program& program, int input_fd, int output_fd, int error_fd,
      idle_time::IdleClock& clock, size_t clock_index) const {
    program.input = input_fd;
    program.output = output_fd;
    program.error = error_fd;
    program.clock = &clock;
    program.clock_index = clock_index;
    return process::start_program(sandbox_, program);
  }

  // Waits for the manager or interactor, and returns its ending. The outputs are not read yet.
  checker_result::CheckerOutput wait_for_judge_program(
      process::RunningProgram& program, verdict::Verdict& verdict) const {
    checker_result::CheckerOutput program_output;
    program_output.program_name = manager_->name();
    program_output.ending = process::mark_exceeded_limit(plan_.manager.limits, program.wait_for_ending());
    verdict.ending.waited_us += program_output.ending.waited_us;
    return program_output;
  }
};

// TwoSteps: the submission runs twice at the same time. The first run passes its result to the second run through a
// pipe.
class TwoStepsTask : public ParallelTask {
 public:
  using ParallelTask::ParallelTask;

  verdict::Verdict judge(const plan::Test& test) override {
    pipes::Pipe between = streams_.get_empty_pipe("between");
    const int output_fd = streams_.get_empty_file("output");
    const sys::Fd output_writer = files::reopen_write_only(output_fd);
    idle_time::IdleClock clock(2);
    std::vector<SubmissionProcess> processes;
    processes.push_back(start_step(clock, 0, between.write_end, &test.input, -1));
    processes.push_back(start_step(clock, 1, between.read_end, nullptr, output_writer.get()));
    between.close();
    verdict::Verdict verdict = wait_for_processes(processes, choose_verdict_limits(), CpuLimitScope::each_process);
    if (verdict.end_reason == verdict::EndReason::ok &&
        files::read_size_bytes(output_fd) > replace_unlimited_by_max(choose_verdict_limits().file_size_bytes))
      verdict.end_reason = verdict::EndReason::output;
    if (verdict.end_reason == verdict::EndReason::ok) check_output(verdict, test, output_fd);
    return verdict;
  }

 private:
  static int64_t replace_unlimited_by_max(int64_t value) { return value == process::unlimited ? INT64_MAX : value; }

  SubmissionProcess start_step(idle_time::IdleClock& clock, size_t step, const sys::Fd& pipe_end,
      const std::string* input_name, int output_fd) const {
    sys::Fd input_copy;
    return start_process(clock, step, [&](process::Program& program) {
      program.argv.push_back(std::to_string(step));
      program.argv.push_back(pipes::make_fd_path(pipe_end));
      program.inherited_fds.push_back(pipe_end.get());
      program.sees_own_descriptors = true;
      if (input_name) input_copy = set_standard_input(files_.find_fd(*input_name), program);
      program.output = output_fd;
    });
  }
};

// The pipes between the manager and a process.
struct PipePair {
  // They are closed in this order: a program that sees the end of its input can no longer write to its partner.
  pipes::Pipe to_user, to_manager;
};

// Communication: a manager exchanges data with the submission's processes, and determines the score.
class CommunicationTask : public ParallelTask {
 public:
  explicit CommunicationTask(const TaskContext& context) : ParallelTask(context) {
    if (!manager_) sys::fail("manager: a Communication task needs a manager");
  }

  verdict::Verdict judge(const plan::Test& test) override {
    std::vector<PipePair> pipes;
    for (size_t index = 0; index < static_cast<size_t>(plan_.process_count); ++index)
      pipes.push_back({streams_.get_empty_pipe("to user", index), streams_.get_empty_pipe("to manager", index)});
    const sys::Fd manager_output = files::make_memory_file("said"), manager_error = files::make_memory_file("told");
    manager_->link_test_files(files_.find_fd(test.input), find_answer_fd(test), -1);
    const sys::Fd output_file = manager_->make_output_file();
    idle_time::IdleClock clock(pipes.size() + 1);
    process::RunningProgram manager = start_manager(test, pipes, manager_output.get(), manager_error.get(), clock);
    std::vector<SubmissionProcess> processes = start_processes(pipes, clock);
    for (PipePair& pipe_pair : pipes) pipe_pair.to_user.close(), pipe_pair.to_manager.close();
    verdict::Verdict verdict = wait_for_processes(processes, choose_verdict_limits(), CpuLimitScope::sum_of_processes);
    checker_result::CheckerOutput manager_result = wait_for_judge_program(manager, verdict);
    // Also if the manager failed afterwards, because the process that failed had left it.
    const bool assigns_blame = sandbox_.layers.is_enabled("blame");
    if (verdict.end_reason != verdict::EndReason::ok && assigns_blame) return verdict;
    if (assigns_blame && is_judge_killed_after_large_output(manager_result.ending, verdict, choose_verdict_limits())) {
      verdict.end_reason = verdict::EndReason::output;
      return verdict;
    }
    if (manager_result.ending.signal == SIGPIPE && assigns_blame) {
      verdict.feedback = "The submission ended too early";
      return verdict;
    }
    manager_result.standard_output = files::read_up_to(manager_output.get(), checker_result::max_output_bytes);
    manager_result.standard_error = files::read_up_to(manager_error.get(), checker_result::max_output_bytes);
    set_verdict(verdict, test, manager_result,
        files::read_size_bytes(output_file.get()) > 0 ? output_file.get() : manager_output.get());
    return verdict;
  }

 private:
  process::RunningProgram start_manager(const plan::Test& test, const std::vector<PipePair>& pipes, int output_fd,
      int error_fd, idle_time::IdleClock& clock) const {
    std::vector<std::string> arguments;
    std::vector<int> pipe_fds;
    for (const PipePair& pipe_pair : pipes) {
      for (const sys::Fd* pipe_end : {&pipe_pair.to_manager.read_end, &pipe_pair.to_user.write_end}) {
        arguments.push_back(pipes::make_fd_path(*pipe_end));
        pipe_fds.push_back(pipe_end->get());
      }
    }
    process::Program program = manager_->make_program(arguments);
    program.inherited_fds.insert(program.inherited_fds.end(), pipe_fds.begin(), pipe_fds.end());
    program.writable_paths.push_back(judge_program::manager_output_name);
    return start_judge_program(
        program, rewind_input_fd(files_.find_fd(test.input)), output_fd, error_fd, clock, pipes.size());
  }

  std::vector<SubmissionProcess> start_processes(
      const std::vector<PipePair>& pipes, idle_time::IdleClock& clock) const {
    std::vector<SubmissionProcess> processes;
    for (size_t index = 0; index < pipes.size(); ++index)
      processes.push_back(start_process(clock, index, [&](process::Program& program) {
        program.counts_written_bytes = true;
        connect_pipes(program, pipes[index]);
        if (pipes.size() > 1) program.argv.push_back(std::to_string(index));
      }));
    return processes;
  }

  void connect_pipes(process::Program& program, const PipePair& pipes) const {
    const sys::Fd &input_end = pipes.to_user.read_end, &output_end = pipes.to_manager.write_end;
    if (!plan_.uses_fifos) {
      program.input = input_end.get();
      program.output = output_end.get();
      return;
    }
    program.sees_own_descriptors = true;
    for (const sys::Fd* pipe_end : {&input_end, &output_end}) {
      program.argv.push_back(pipes::make_fd_path(*pipe_end));
      program.inherited_fds.push_back(pipe_end->get());
    }
  }

  // Sets the verdict from the manager's result. If the plan has a checker, the checker judges the manager's output
  // file, or the manager's standard output if it wrote no file.
  void set_verdict(verdict::Verdict& verdict, const plan::Test& test,
      const checker_result::CheckerOutput& program_output, int manager_output_fd) const {
    if (checker_.is_program()) {
      const process::Ending& ending = program_output.ending;
      if (ending.kill_reason != process::KillReason::none || ending.exit_code != 0 || ending.signal != 0 ||
          !ending.failure.empty())
        read_judge_program_result("cms", program_output);
      check_output(verdict, test, manager_output_fd);
      return;
    }
    const checker_result::CheckerResult result = read_judge_program_result(plan_.manager.kind, program_output);
    verdict.score = result.score;
    verdict.is_fraction = result.is_fraction;
    verdict.feedback = result.feedback;
  }
};

constexpr size_t interactor_clock_index = 1;  // Index of the interactor on the clock of a test.

// Interactive: the submission and an interactor read each other's output.
class InteractiveTask : public ParallelTask {
 public:
  explicit InteractiveTask(const TaskContext& context) : ParallelTask(context) {
    if (!manager_) sys::fail("manager: an Interactive task needs an interactor");
  }

  verdict::Verdict judge(const plan::Test& test) override {
    manager_->clear_feedback();
    bool is_first = true;
    return judge_all_passes(files_.find_fd(test.input), [&](int input_fd, sys::Fd& next_input) {
      const bool has_second_run = std::exchange(is_first, false) && !plan_.manager.second_run.empty();
      return has_second_run || plan_.manager.second_run != "alone"
          ? run_with_interactor(test, input_fd, has_second_run, next_input)
          : run_without_interactor(test, input_fd);
    });
  }

 private:
  // Judges a second run without the interactor: the checker judges the submission's output.
  verdict::Verdict run_without_interactor(const plan::Test& test, int input_fd) {
    const int output_fd = streams_.get_empty_file("output"), error_fd = streams_.get_empty_file("error");
    const bool is_one_way = sandbox_.layers.is_enabled("one-way");
    const sys::Fd output_writer = files::reopen_write_only(output_fd, is_one_way),
                  error_writer = files::reopen_write_only(error_fd, is_one_way);
    process::Program program = make_submission_program();
    const sys::Fd input_copy = set_standard_input(input_fd, program);
    program.output = output_writer.get();
    program.error = error_writer.get();
    return run_and_check(program, test, files_.find_fd(test.input), output_fd, error_fd);
  }

  // Judges a run with the interactor. `next_run_input` receives the input of another run if the interactor asks for it,
  // or if `has_second_run` is set and this run is right.
  verdict::Verdict run_with_interactor(
      const plan::Test& test, int input_fd, bool has_second_run, sys::Fd& next_run_input) {
    pipes::Pipe to_user = streams_.get_empty_pipe("to user"), from_user = streams_.get_empty_pipe("from user");
    const sys::Fd interactor_error = files::make_memory_file("told");
    sys::Fd transcript = files::make_memory_file("transcript");
    manager_->link_test_files(input_fd, find_answer_fd(test), transcript.get());
    idle_time::IdleClock clock(2);
    process::RunningProgram interactor =
        start_interactor(test, from_user.read_end.get(), to_user.write_end.get(), interactor_error.get(), clock);
    std::vector<SubmissionProcess> processes;
    processes.push_back(start_submission(to_user.read_end.get(), from_user.write_end.get(), clock));
    // This process's copies of the submission's pipe ends stay open until the submission's ending is known. The
    // interactor cannot detect the exit earlier, so a decision before that is independent of it.
    to_user.write_end.reset(), from_user.read_end.reset();
    verdict::Verdict verdict = wait_for_processes(processes, choose_verdict_limits(), CpuLimitScope::sum_of_processes);
    const bool interactor_ended_first = verdict.end_reason != verdict::EndReason::ok &&
        (verdict.ending.signal == SIGPIPE || ends_without_further_input(interactor, clock));
    from_user.close();
    // A successful submission may leave output of the interactor unread. The interactor must not be killed by SIGPIPE
    // because of that.
    const bool assigns_blame = sandbox_.layers.is_enabled("blame");
    if (verdict.end_reason == verdict::EndReason::ok && assigns_blame)
      pipes::discard_output_until(to_user.read_end, interactor.report_fd());
    to_user.close();
    checker_result::CheckerOutput interactor_output = wait_for_judge_program(interactor, verdict);
    interactor_output.full_score = plan_.manager.full_score;
    interactor_output.standard_error = files::read_up_to(interactor_error.get(), checker_result::max_output_bytes);
    const bool has_passes = plan_.checker.max_passes > 1;
    if (has_passes) next_run_input = manager_->take_next_pass_input();
    manager_->collect_feedback(interactor_output, has_passes);
    if (assigns_blame &&
        is_judge_killed_after_large_output(interactor_output.ending, verdict, choose_verdict_limits())) {
      verdict.end_reason = verdict::EndReason::output;
      return verdict;
    }
    if (next_run_input.valid() && verdict.end_reason == verdict::EndReason::ok &&
        interactor_output.ending.exit_code != 42)
      sys::fail(interactor_output.program_name + " asks for another pass but rejects this one");
    set_verdict(verdict, test, interactor_output, interactor_ended_first, has_second_run ? -1 : transcript.get());
    if (has_second_run && verdict.end_reason == verdict::EndReason::ok && verdict.score > 0)
      next_run_input = std::move(transcript);
    return verdict;
  }

  process::RunningProgram start_interactor(
      const plan::Test& test, int input_fd, int output_fd, int error_fd, idle_time::IdleClock& clock) const {
    std::vector<std::string> arguments = {
        judge_program::input_name, judge_program::output_name, judge_program::answer_name};
    if (plan_.manager.kind == "icpc")
      arguments = {judge_program::input_name, judge_program::answer_name, judge_program::feedback_name};
    if (plan_.manager.kind == "exit-code") arguments = {judge_program::input_name, judge_program::answer_name};
    if (!plan_.manager.arguments.empty()) arguments = plan_.manager.arguments;
    process::Program program = manager_->make_program(arguments);
    program.argv.insert(program.argv.end(), test.arguments.begin(), test.arguments.end());
    return start_judge_program(program, input_fd, output_fd, error_fd, clock, interactor_clock_index);
  }

  SubmissionProcess start_submission(int input_fd, int output_fd, idle_time::IdleClock& clock) const {
    return start_process(clock, 0, [&](process::Program& program) {
      program.counts_written_bytes = true;
      program.input = input_fd;
      program.output = output_fd;
    });
  }

  // Returns whether the interactor exits without further input: the submission's output may be enough for it. Returns
  // false when the interactor has been idle for some time. While it computes or waits for a processor, it may not have
  // read everything yet.
  static bool ends_without_further_input(const process::RunningProgram& interactor, idle_time::IdleClock& clock) {
    constexpr int poll_interval_ms = 10;
    constexpr int64_t max_idle_us = 50 * 1000;
    const int64_t requested_at = sys::now_us();
    std::optional<int64_t> first_idle_us;
    clock.request_supervisor_reports();
    for (;;) {
      pollfd report = {interactor.report_fd(), POLLIN, 0};
      if (poll(&report, 1, poll_interval_ms) == 1) return true;
      const std::optional<int64_t> idle_us = clock.find_reported_idle_us(interactor_clock_index, requested_at);
      if (!first_idle_us) first_idle_us = idle_us;
      if (idle_us && *idle_us - *first_idle_us > max_idle_us) return false;
    }
  }

  // Sets the verdict from the interactor's result. `transcript_fd` is for the checker; -1 means no check.
  // If the interactor rejected the submission and exited first, its result counts, because the submission ran without a
  // partner afterwards. Otherwise a failed submission has failed, whatever the interactor decided.
  void set_verdict(verdict::Verdict& verdict, const plan::Test& test,
      const checker_result::CheckerOutput& interactor_output, bool interactor_ended_first, int transcript_fd) const {
    const bool has_failed = verdict.end_reason != verdict::EndReason::ok;
    if (has_failed && !interactor_ended_first && sandbox_.layers.is_enabled("blame")) return;
    const checker_result::CheckerResult result = read_judge_program_result(plan_.manager.kind, interactor_output);
    if (has_failed && result.score > 0) return;
    verdict.end_reason = verdict::EndReason::ok;
    verdict.score = result.score;
    verdict.is_fraction = result.is_fraction;
    verdict.feedback = result.feedback;
    if (result.score > 0 && transcript_fd >= 0 && checker_.is_program()) check_output(verdict, test, transcript_fd);
  }
};

}  // namespace

std::unique_ptr<Task> make_two_steps_task(const TaskContext& context) {
  return std::make_unique<TwoStepsTask>(context);
}
std::unique_ptr<Task> make_communication_task(const TaskContext& context) {
  return std::make_unique<CommunicationTask>(context);
}
std::unique_ptr<Task> make_interactive_task(const TaskContext& context) {
  return std::make_unique<InteractiveTask>(context);
}

}  // namespace task
