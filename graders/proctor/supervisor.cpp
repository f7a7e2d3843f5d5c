#include "supervisor.hpp"

#include <algorithm>
#include <csignal>
#include <ctime>
#include <fcntl.h>
#include <optional>
#include <poll.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "child.hpp"
#include "files.hpp"
#include "resource_usage.hpp"

namespace process {
namespace {

// Time between two checks of a submission, in ns. Its limits have this resolution.
constexpr long submission_poll_ns = 10 * 1000 * 1000;
// Time between two checks of a tree of processes, in ns. Such a check costs a hundred times as much, and the limits of
// trees are generous.
constexpr long poll_tree_ns = 50 * 1000 * 1000;
// Time between two checks of a tree that has limits of processes and files only, such as a persistent proctor's.
constexpr long poll_unlimited_tree_ns = 250 * 1000 * 1000;
// A tree with more than a quarter of its process limit is checked as often as a submission.
constexpr int64_t many_processes_fraction = 4;
constexpr int64_t disk_check_interval_us = 250 * 1000;  // Minimum time between two checks of a folder.
// Minimum time between two checks of the CPU waits of many threads.
constexpr int64_t cpu_wait_check_interval_us = 50 * 1000;
// Number of threads above the limit that are allowed, because a joined thread is still counted for a moment.
constexpr int64_t ending_thread_allowance = 8;
// A new thread above the limit is held until other threads exit. It is held for a maximum number of checks at which no
// thread runs, or until the other threads have used this CPU time. Then it starts, because it may hold a lock that
// other threads wait for. At twice the limit, the program is killed.
constexpr int max_idle_checks = 2;
constexpr int64_t max_held_cpu_us = 20 * 1000;

int64_t cpu_time_us(const rusage& usage) {
  return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000LL + usage.ru_utime.tv_usec + usage.ru_stime.tv_usec;
}

class Supervisor {
 public:
  Supervisor(const sandbox::Sandbox& sandbox, const Program& program, int report_pipe)
      : sandbox_(sandbox),
        program_(program),
        clock_(program.clock ? *program.clock : own_clock_.emplace(1)),
        is_submission_(program.profile == seccomp::Profile::submission),
        is_single_process_(is_submission_ && program.max_processes == 1),
        asks_before_starts_((is_submission_ && !is_single_process_) || needs_thread_permission(sandbox, program)),
        proc_fd_(sandbox.proc_fd.get()),
        report_pipe_fd_(report_pipe),
        time_tracker_(clock_, program.clock_index, make_idle_time_rules(program)) {}

  // Starts the program, waits until it has terminated and returns its report.
  SupervisorReport supervise_program() {
    prepare_own_process();
    start_program();
    while (!has_ended_) {
      wait_for_event();
      if (only_answered_request_ && sys::now_us() < next_check_at_) continue;
      next_check_at_ = sys::now_us() + submission_poll_ns / 1000;
      record_supervisor_sleep();
      update_cpu_wait_times();  // must happen before a process that has exited is reaped
      // before reaping as well
      tick_cpu_us_ = std::max(tick_cpu_us_, resource_usage::read_cpu_time_by_ticks_us(child_pid_));
      if (program_.counts_written_bytes)
        report_.written_bytes =
            std::max(report_.written_bytes, resource_usage::read_written_byte_count(proc_fd_, child_pid_in_proc_));
      reap_exited_processes(WNOHANG);
      if (!has_ended_) enforce_limits();
      last_cpu_wait_us_ = read_supervisor_cpu_wait_us();
    }
    time_tracker_.record_final_times(ended_at_, reaped_cpu_us_, cpu_waits_.total_us());
    report_.wall_us = ended_at_ - started_at_;
    report_.idle_us = time_tracker_.idle_us(ended_at_);
    report_.waited_us = cpu_waits_.total_us() + time_tracker_.disk_and_steal_wait_us();
    mark_program_ended();
    if (sandbox_.layers.is_enabled("order"))
      kill_all();
    else
      reap_exited_processes(WNOHANG);
    report_.cpu_us = reaped_cpu_us_;
    report_.memory_bytes = std::max(report_.memory_bytes, reaped_memory_bytes_);
    if (was_killed_by_cpu_rlimit())
      report_.kill_reason = KillReason::cpu, report_.cpu_us = std::max(report_.cpu_us, tick_cpu_us_);
    report_.is_killed_from_outside = is_submission_ && sandbox_.has_seccomp && was_killed_from_outside();
    report_.is_machine_crowded = is_machine_crowded();
    if (!is_single_process_ && listener_) report_.process_count = 1 + listener_->started_process_count();
    return report_;
  }

  // Returns whether RLIMIT_CPU killed a process before a check noticed its CPU time; in a tree, a shell may survive it
  // and only report it. RLIMIT_CPU counts ticks: a program that is awake at each tick reaches the limit long before it
  // has used that much CPU time.
  bool was_killed_by_cpu_rlimit() const {
    const int64_t limit = find_cpu_limit_us(program_.limits, is_machine_crowded());
    const bool has_failed = report_.kill_reason == KillReason::none && (report_.exit_code != 0 || report_.signal != 0);
    if (!has_failed || limit == unlimited) return false;
    if (report_.signal == SIGKILL && sandbox_.layers.is_enabled("accounting") && tick_cpu_us_ > limit) return true;
    return !is_single_process_ && report_.cpu_us > limit;
  }

  // Returns whether the program was killed together with the judge's processes, or by SIGKILL. The seccomp filter
  // prevents a submission from sending SIGKILL to itself, and any signal to us.
  bool was_killed_from_outside() const {
    if (report_.kill_reason != KillReason::none) return report_.kill_reason == KillReason::kill_switch;
    sigset_t pending;
    sigpending(&pending);
    const bool has_sigterm = sigismember(&pending, SIGTERM) == 1;
    return report_.signal == SIGKILL || (report_.signal == SIGTERM && has_sigterm);
  }

  // Ends the program on the idle clock, so that other supervisors do not wait for reports about it.
  void mark_program_ended() { clock_.mark_program_ended(program_.clock_index); }

  // Only for tests in which the ending is reported before all processes are dead.
  void kill_all_after_delay() {
    const timespec delay = {1, 0};
    nanosleep(&delay, nullptr);
    kill_all();
  }

 private:
  // Sets up the supervisor's own signals, descriptors and /proc.
  void prepare_own_process() {
    close_unneeded_descriptors();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    sigset_t watched;
    sigemptyset(&watched);
    sigaddset(&watched, SIGCHLD);
    sigaddset(&watched, SIGTERM);
    sigprocmask(SIG_SETMASK, &watched, nullptr);
    watched_signals_ = watched;
    if (asks_before_starts_) signal_fd_ = sys::Fd(signalfd(-1, &watched_signals_, SFD_CLOEXEC));
    if (sandbox_.has_pid_namespace && sandbox_.shared_folder.empty()) {
      if (!mount_proc()) sys::fail_errno("cannot mount its own /proc");
      own_proc_fd_ = sys::Fd(open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC));
      proc_fd_ = own_proc_fd_.get();
    }
    own_pid_in_proc_ = find_own_pid(proc_fd_);
    // The program's mounts hide the folder's path later.
    if (program_.limits.disk_bytes != unlimited || program_.limits.disk_entries != unlimited)
      folder_fd_ =
          sys::Fd(open((sandbox_.job_folder + "/" + program_.folder).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  }

  // Mounts /proc. For untrusted programs or sources it has nothing about the machine's load and memory, if the kernel
  // is 5.8 or newer.
  bool mount_proc() const {
    constexpr unsigned long flags = MS_NOSUID | MS_NODEV | MS_NOEXEC;
    const bool is_untrusted = program_.profile == seccomp::Profile::submission || program_.sees_sandbox_proc;
    const char* options = is_untrusted ? "subset=pid" : nullptr;
    return mount("proc", "/proc", "proc", flags, options) == 0 || mount("proc", "/proc", "proc", flags, nullptr) == 0;
  }

  // Forks the child that becomes the program, and waits until the program runs.
  void start_program() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) sys::fail_errno("cannot make a pipe");
    sys::Fd read_end(ends[0]), write_end(ends[1]);
    clock_.hide_from_child_processes();
    int sockets[2] = {-1, -1};
    if (asks_before_starts_ && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0)
      sys::fail_errno("cannot make a socket pair");
    sys::Fd listener_receiver(sockets[0]), listener_sender(sockets[1]);
    child_pid_ = static_cast<pid_t>(sys::retry_while_eagain(fork));
    if (child_pid_ < 0) sys::fail_errno("cannot fork");
    if (child_pid_ == 0) confine_and_exec(sandbox_, program_, proc_fd_, write_end.get(), listener_sender.get());
    write_end.reset();
    const StartMessage start = wait_for_start_message(read_end.get());
    read_end.reset();
    if (listener_receiver.valid()) set_start_listener(receive_seccomp_listener(listener_receiver.get()));
    listener_receiver.reset(), listener_sender.reset();
    close_program_descriptors();
    child_pid_in_proc_ = start.pid_in_proc;
    started_at_ = start.started_us;
    time_tracker_.start_measuring(started_at_);
    last_cpu_wait_us_ = read_supervisor_cpu_wait_us();
  }

  // Closes all descriptors that neither the program nor the supervisor needs, such as hundreds of tests' files, so that
  // the child need not close them again. An open end of another program's pipe would make its reader wait.
  void close_unneeded_descriptors() const {
    if (!sandbox_.layers.is_enabled("descriptors")) return;
    std::vector<int> kept_fds = program_.inherited_fds;
    for (const sandbox::AccessGrant& grant : sandbox_.system_grants) kept_fds.push_back(grant.fd.get());
    for (const int fd : {report_pipe_fd_, proc_fd_, program_.counted_file, program_.executable, program_.input,
             program_.output, program_.error})
      if (fd >= 0) kept_fds.push_back(fd);
    close_all_except(kept_fds);
  }

  // Closes the program's own descriptors in the supervisor.
  void close_program_descriptors() const {
    if (sandbox_.layers.is_enabled("descriptors"))
      close_all_except({report_pipe_fd_, proc_fd_, program_.counted_file, own_proc_fd_.get(), folder_fd_.get(),
          signal_fd_.get(), listener_ ? listener_->fd() : -1});
  }

  void set_start_listener(sys::Fd listener) {
    if (listener.valid())
      listener_.emplace(std::move(listener), program_.max_processes - 1);
    else if (!is_single_process_)
      sys::fail("the program's processes cannot be counted");
  }

  // Waits for the exit of a process, a request of the program, a signal, or the time of the next check.
  void wait_for_event() {
    const timespec max_wait = {
        0, has_many_processes_ || is_submission_ ? submission_poll_ns : find_process_tree_poll_ns(program_.limits)};
    const int64_t started_us = sys::now_us();
    const int signal =
        listener_ ? poll_signal_and_start_requests(max_wait) : sigtimedwait(&watched_signals_, nullptr, &max_wait);
    const int64_t waited_us = sys::now_us() - started_us;
    wait_time_us_ += waited_us, intended_sleep_us_ += std::min<int64_t>(waited_us, max_wait.tv_nsec / 1000);
    if (signal == SIGTERM) kill_program(KillReason::kill_switch);
  }

  static long find_process_tree_poll_ns(const Limits& limits) {
    for (const int64_t limit : {limits.cpu_us, limits.wall_us, limits.elapsed_us, limits.memory_bytes})
      if (limit != unlimited) return poll_tree_ns;
    return poll_unlimited_tree_ns;
  }

  // Adds the time that the supervisor slept, except the time that it waited for a processor. During that, a program
  // that has asked for a start waits for its answer, and is not idle.
  void record_supervisor_sleep() {
    time_tracker_.add_supervisor_sleep(std::clamp<int64_t>(
        wait_time_us_ - (read_supervisor_cpu_wait_us() - last_cpu_wait_us_), 0, intended_sleep_us_));
    wait_time_us_ = intended_sleep_us_ = 0;
  }

  int64_t read_supervisor_cpu_wait_us() const {
    return listener_ ? resource_usage::read_cpu_wait_us(proc_fd_, own_pid_in_proc_) : 0;
  }

  // Waits for a signal, or for a request to start a process or thread, which it answers. Returns the number of the
  // signal, or 0.
  int poll_signal_and_start_requests(const timespec& max_wait) {
    const int listener_fd = listener_is_closed_ ? -1 : listener_->fd();
    pollfd polled[] = {{signal_fd_.get(), POLLIN, 0}, {listener_fd, static_cast<short>(held_request_ ? 0 : POLLIN), 0}};
    ppoll(polled, 2, &max_wait, nullptr);
    // all processes are exiting, which is slow if they have much memory
    if (polled[1].revents & POLLHUP) listener_is_closed_ = true;
    only_answered_request_ = (polled[1].revents & POLLIN) && !polled[0].revents;
    if (polled[1].revents & POLLIN) handle_start_request();
    const timespec no_wait = {};
    return polled[0].revents ? sigtimedwait(&watched_signals_, nullptr, &no_wait) : 0;
  }

  // Answers a request, or holds it if there are too many threads. Runtimes consider a thread joined before it has
  // exited, so on a busy machine, threads that are about to exit accumulate.
  void handle_start_request() {
    const std::optional<seccomp::ProcessStartListener::StartRequest> request = listener_->receive_request();
    if (!request) return;
    if (request->is_thread && sandbox_.layers.is_enabled("polling") && !may_start_another_thread())
      held_request_ = request, held_since_cpu_us_ = -1, idle_checks_ = 0;
    else
      listener_->answer_request(*request);
  }

  // Reaps every process that has exited, including orphans, since this process is the first of its namespace or a
  // subreaper. Returns whether any process is left.
  bool reap_exited_processes(int wait_options) {
    int status = 0;
    rusage usage;
    pid_t pid;
    while ((pid = wait4(-1, &status, wait_options, &usage)) > 0) {
      reaped_cpu_us_ += cpu_time_us(usage);
      reaped_memory_bytes_ = std::max<int64_t>(reaped_memory_bytes_, usage.ru_maxrss * 1024LL);
      if (pid != child_pid_) continue;
      has_ended_ = true;
      ended_at_ = sys::now_us();
      report_.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
      report_.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    }
    return pid == 0;
  }

  // Updates the times that threads waited for a processor. For several threads less often, if that is enough, because
  // each thread needs a read.
  void update_cpu_wait_times() {
    const int64_t now = sys::now_us();
    const bool needs_reports = time_tracker_.needs_supervisor_reports(now),
               has_one_thread = is_single_process_ && !program_.may_use_threads;
    if (!has_one_thread && !needs_reports && now < next_cpu_wait_check_at_) return;
    next_cpu_wait_check_at_ = now + cpu_wait_check_interval_us;
    const std::vector<std::string> only_thread = {std::to_string(child_pid_in_proc_)};
    cpu_waits_.add_new_waits(proc_fd_,
        has_one_thread ? only_thread : resource_usage::list_threads(proc_fd_, list_processes()), now, needs_reports);
  }

  std::vector<pid_t> list_processes() const {
    return is_single_process_ ? std::vector<pid_t>{child_pid_in_proc_}
                              : resource_usage::list_descendants(proc_fd_, own_pid_in_proc_);
  }

  // Returns the program's time rules. Without a CPU limit, CPU time is idle time.
  static idle_time::IdleTimeRules make_idle_time_rules(const Program& program) {
    const Limits& limits = program.limits;
    const bool is_trusted = program.profile != seccomp::Profile::submission;
    return {limits.wall_us, limits.elapsed_us, limits.cpu_us == unlimited, is_trusted, program.is_exclusive};
  }

  // Measures the program's usage, and kills the program if it exceeds a limit.
  void enforce_limits() {
    if (!sandbox_.layers.is_enabled("polling")) return;
    const int64_t now = sys::now_us();
    resource_usage::ResourceUsage usage = is_single_process_
        ? resource_usage::measure_process(proc_fd_, child_pid_in_proc_, child_pid_)
        : resource_usage::measure_descendants(proc_fd_, own_pid_in_proc_);
    // A file that the program can read again counts as memory. If it holds more than the memory, the program is killed
    // for its output, whichever limit is noticed first.
    const int64_t file_bytes = program_.counted_file >= 0 ? files::count_allocated_bytes(program_.counted_file) : 0;
    const bool is_mostly_file = file_bytes > usage.memory_bytes;
    const Limits& limits = program_.limits;
    const auto is_over_memory = [&] {
      return limits.memory_bytes != unlimited && usage.memory_bytes + file_bytes > limits.memory_bytes;
    };
    // Counts shared pages once, which is slow.
    if (!is_single_process_ && listener_ && is_over_memory())
      usage.memory_bytes = resource_usage::measure_proportional_memory_bytes(proc_fd_, list_processes());
    const bool exceeds_memory = is_over_memory();
    if (!is_mostly_file) usage.memory_bytes += file_bytes;
    report_.memory_bytes = std::max(report_.memory_bytes, usage.memory_bytes);
    if (held_request_) usage.is_waiting_for_disk = false;  // a signal, not a disk, has put the program into that state
    const int64_t disk_activity = time_tracker_.must_read_disk_activity(usage.is_waiting_for_disk)
        ? resource_usage::read_disk_activity_counter(proc_fd_, child_pid_in_proc_)
        : 0;
    const bool is_runnable = usage.is_runnable || cpu_waits_.is_any_thread_runnable();
    time_tracker_.record_measurement({now, reaped_cpu_us_ + usage.cpu_us, cpu_waits_.total_us(), is_runnable,
        usage.is_waiting_for_disk, disk_activity});
    const idle_time::ProgramTimeTracker::Outcome time_outcome = time_tracker_.find_outcome(now);
    has_many_processes_ =
        limits.processes != unlimited && usage.task_count > limits.processes / many_processes_fraction;
    if (time_outcome != idle_time::ProgramTimeTracker::Outcome::none)
      report_.is_stalled = time_outcome == idle_time::ProgramTimeTracker::Outcome::stalled,
      kill_program(KillReason::wall);
    else if (limits.cpu_us != unlimited &&
        reaped_cpu_us_ + usage.cpu_us > find_cpu_limit_us(limits, is_machine_crowded()))
      kill_program(KillReason::cpu);
    else if ((limits.processes != unlimited && usage.task_count > limits.processes) ||
        (listener_ && listener_->has_too_many_refused_processes()))
      kill_program(KillReason::processes);
    else if (must_kill_for_threads(reaped_cpu_us_ + usage.cpu_us))
      kill_program(KillReason::threads);
    else if (exceeds_disk_limit() || (exceeds_memory && is_mostly_file))
      kill_program(KillReason::disk);
    else if (exceeds_memory)
      kill_for_exceeded_memory(usage);
  }

  bool is_machine_crowded() const {
    return idle_time::is_machine_crowded(program_.limits.cpu_us, cpu_waits_.total_us());
  }

  // Returns whether the program must be killed because of its number of threads. They are counted here, because
  // RLIMIT_NPROC counts all threads of the same user.
  bool must_kill_for_threads(int64_t used_cpu_us) {
    if (program_.limits.threads == unlimited) return false;
    if (held_request_) return must_kill_for_held_thread(used_cpu_us);
    thread_count_ = count_threads();
    return thread_count_ > find_thread_limit_with_allowance() &&
        !(listener_ && needs_thread_permission(sandbox_, program_));
  }

  // Returns whether the program must be killed because a thread above the limit was held long enough.
  bool must_kill_for_held_thread(int64_t used_cpu_us) {
    thread_count_ = count_threads() + 1;
    if (thread_count_ <= find_thread_limit_with_allowance()) {
      answer_held_request();
      return false;
    }
    if (held_since_cpu_us_ < 0) held_since_cpu_us_ = used_cpu_us;
    idle_checks_ = resource_usage::is_any_thread_running(proc_fd_, list_processes()) ? 0 : idle_checks_ + 1;
    if (idle_checks_ <= max_idle_checks && used_cpu_us - held_since_cpu_us_ <= max_held_cpu_us) return false;
    if (thread_count_ > find_thread_limit_with_allowance() + program_.limits.threads) return true;
    answer_held_request();
    return false;
  }

  void answer_held_request() {
    listener_->answer_request(*held_request_);
    held_request_.reset();
  }

  int64_t find_thread_limit_with_allowance() const {
    const int64_t limit = program_.limits.threads;
    return limit == unlimited ? INT64_MAX : limit + ending_thread_allowance;
  }

  int64_t count_threads() const {
    int64_t threads = 1;
    for (const pid_t pid : list_processes()) threads += resource_usage::read_thread_count(proc_fd_, pid) - 1;
    return threads;
  }

  // Counts another thread and returns whether it may start. If not, counts again, because some may have exited.
  bool may_start_another_thread() {
    if (++thread_count_ > find_thread_limit_with_allowance()) thread_count_ = count_threads() + 1;
    return thread_count_ <= find_thread_limit_with_allowance();
  }

  // Returns whether the files in the program's folder exceed a limit. Checking a large folder is slow, so the time
  // to the next check grows with it.
  bool exceeds_disk_limit() {
    const int64_t now = sys::now_us();
    if (!folder_fd_.valid() || now < next_disk_check_at_) return false;
    const Limits& limits = program_.limits;
    const int64_t max_entries = limits.disk_entries == unlimited ? INT64_MAX - 1 : limits.disk_entries;
    const resource_usage::FolderContents contents =
        resource_usage::count_folder_contents(folder_fd_.get(), max_entries);
    const int64_t end = sys::now_us();
    next_disk_check_at_ = end + std::max<int64_t>(disk_check_interval_us, 50 * (end - now));
    return contents.entries > max_entries || (limits.disk_bytes != unlimited && contents.bytes > limits.disk_bytes);
  }

  // Kills the largest process, like the kernel when a control group is full. A shell that started it can then report
  // that. Submissions and compilers are killed as a whole, because a shell's report does not show why the process
  // was killed.
  void kill_for_exceeded_memory(const resource_usage::ResourceUsage& usage) {
    if (usage.largest_pid == child_pid_in_proc_ || is_submission_ || program_.profile == seccomp::Profile::tool) {
      kill_program(KillReason::memory);
      return;
    }
    for (const pid_t pid : resource_usage::list_descendants(proc_fd_, own_pid_in_proc_))
      if (pid == usage.largest_pid) kill(pid, SIGKILL);
  }

  // Kills the program and all its processes, and records the reason.
  void kill_program(KillReason reason) {
    if (report_.kill_reason == KillReason::none) report_.kill_reason = reason;
    update_cpu_wait_times();
    kill(child_pid_, SIGKILL);
    kill_remaining_processes();
    while (!has_ended_ && reap_exited_processes(WNOHANG)) pause_briefly();
    if (!has_ended_) sys::fail("the program's process has disappeared");
  }

  // Sends SIGKILL to every process of the program once.
  void kill_remaining_processes() const {
    if (!sandbox_.layers.is_enabled("reaping")) return;
    if (sandbox_.has_pid_namespace) {
      kill(-1, SIGKILL);  // all processes of this pid namespace except its first
      return;
    }
    kill(-child_pid_, SIGKILL);
    for (const pid_t pid : resource_usage::list_descendants(proc_fd_, own_pid_in_proc_)) kill(pid, SIGKILL);
  }

  // Kills and reaps processes until none is left, because a process may fork while its parent is being killed.
  void kill_all() {
    if (!sandbox_.layers.is_enabled("reaping")) return;
    for (int attempts = 50000; attempts > 0; --attempts) {
      kill_remaining_processes();
      if (!reap_exited_processes(WNOHANG)) return;
      pause_briefly();
    }
    sys::fail("some processes of the program could not be killed");
  }

  static void pause_briefly() {
    const timespec pause = {0, 200 * 1000};
    nanosleep(&pause, nullptr);
  }

  const sandbox::Sandbox& sandbox_;
  const Program& program_;
  std::optional<idle_time::IdleClock> own_clock_;
  idle_time::IdleClock& clock_;
  const bool is_submission_;
  const bool is_single_process_;   // whether its seccomp filter allows no second process
  const bool asks_before_starts_;  // whether the program asks before it starts a process or thread
  // set only if the program asks before it starts a process or thread
  std::optional<seccomp::ProcessStartListener> listener_;
  int proc_fd_, report_pipe_fd_;
  sys::Fd own_proc_fd_, folder_fd_, signal_fd_;
  sigset_t watched_signals_;
  SupervisorReport report_ = {};
  pid_t child_pid_ = -1, child_pid_in_proc_ = -1, own_pid_in_proc_ = -1;
  std::optional<seccomp::ProcessStartListener::StartRequest> held_request_;
  int idle_checks_ = 0;  // number of checks at which no thread was running
  bool has_ended_ = false, has_many_processes_ = false, only_answered_request_ = false, listener_is_closed_ = false;
  resource_usage::CpuWaitCounter cpu_waits_;
  idle_time::ProgramTimeTracker time_tracker_;
  int64_t started_at_ = 0, ended_at_ = 0, reaped_cpu_us_ = 0, reaped_memory_bytes_ = 0, next_disk_check_at_ = 0,
          next_cpu_wait_check_at_ = 0, tick_cpu_us_ = 0, thread_count_ = 1, next_check_at_ = 0,
          held_since_cpu_us_ = -1, wait_time_us_ = 0, intended_sleep_us_ = 0, last_cpu_wait_us_ = 0;
};

}  // namespace

void supervise_and_exit(const sandbox::Sandbox& sandbox, const Program& program, int report_pipe) {
  SupervisorReport result = {};
  Supervisor supervisor(sandbox, program, report_pipe);
  try {
    result = supervisor.supervise_program();
  } catch (const sys::Failure& failure) {
    supervisor.mark_program_ended();
    std::strncpy(result.failure, failure.message.c_str(), sizeof result.failure - 1);
  }
  const ssize_t written = write(report_pipe, &result, sizeof result);
  if (!sandbox.layers.is_enabled("order")) supervisor.kill_all_after_delay();
  _exit(written == sizeof result ? 0 : 1);
}

}  // namespace process
