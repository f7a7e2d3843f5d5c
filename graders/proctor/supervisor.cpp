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

constexpr long poll_ns = 10 * 1000 * 1000;       // a submission's limits are exact to this
// Looking at a tree of processes costs a hundred times as much, and its limits are generous.
constexpr long poll_tree_ns = 50 * 1000 * 1000;
// With a quarter of the processes that it may have a tree is looked at as often as a submission.
constexpr int64_t crowd = 4;
constexpr int64_t look_us = 250 * 1000;  // between two looks at a folder
constexpr int64_t notes_us = 50 * 1000;  // between two looks at what many threads waited
// A thread that was joined is counted for a moment longer.
constexpr int64_t threads_about_to_end = 8;
// How long a thread too many waits for others to end, which compute so much or do not move at so many looks. It may
// hold a lock of its runtime that they want: then it starts, until there are twice as many as may be.
constexpr int looks_of_patience = 2;
constexpr int64_t cpu_of_patience_us = 20 * 1000;

int64_t cpu_of(const rusage& usage) {
  return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000LL + usage.ru_utime.tv_usec + usage.ru_stime.tv_usec;
}

class Supervisor {
 public:
  Supervisor(const sandbox::Room& room, const Program& program, int report)
      : room_(room),
        program_(program),
        clock_(program.clock ? *program.clock : own_clock_.emplace(1)),
        submission_(program.profile == seccomp::Profile::submission),
        alone_(submission_ && program.processes == 1),
        asks_((submission_ && !alone_) || asks_for_threads(room, program)),
        proc_(room.proc.get()),
        report_fd_(report),
        account_(clock_, program.member, patience(program)) {}

  Report run() {
    prepare();
    start();
    while (!ended_) {
      wait_for_news();
      if (only_answered_ && sys::now_us() < look_due_) continue;
      look_due_ = sys::now_us() + poll_ns / 1000;
      tell_sleep();
      note_waits();  // of one that has ended, too, before nobody knows of it any more
      ticks_us_ = std::max(ticks_us_, resource_usage::ticks_us(child_));  // the same
      if (program_.talks) report_.written = std::max(report_.written, resource_usage::written(proc_, child_there_));
      reap(WNOHANG);
      if (!ended_) enforce();
      waited_us_ = kept_waiting_us();
    }
    account_.finish(ended_at_, reaped_cpu_us_, waits_.total_us());
    report_.wall_us = ended_at_ - started_at_;
    report_.idle_us = account_.idle_us(ended_at_);
    report_.waited_us = waits_.total_us() + account_.waited_us();
    leave();
    if (room_.layers.on("order"))
      kill_all();
    else
      reap(WNOHANG);
    report_.cpu_us = reaped_cpu_us_;
    report_.memory = std::max(report_.memory, largest_reaped_);
    if (ended_by_the_kernel()) report_.killed = Killed::cpu, report_.cpu_us = std::max(report_.cpu_us, ticks_us_);
    report_.outside = submission_ && room_.seccomp && ended_from_outside();
    report_.crowded = is_crowded();
    if (!alone_ && starts_) report_.processes = 1 + starts_->granted();
    return report_;
  }

  // RLIMIT_CPU ends a process of a tree that no look came to in time, and a shell lives and says so. It counts ticks: a
  // program that is awake at each of them is at its limit long before it has worked for so long.
  bool ended_by_the_kernel() const {
    const int64_t limit = cpu_limit(program_.limits, is_crowded());
    const bool failed = report_.killed == Killed::no && (report_.code != 0 || report_.signal != 0);
    if (!failed || limit == unlimited) return false;
    if (report_.signal == SIGKILL && room_.layers.on("accounting") && ticks_us_ > limit) return true;
    return !alone_ && report_.cpu_us > limit;
  }

  // With all of the judge, whose processes are ended together; or by SIGKILL. The filter keeps a submission from
  // sending that to itself, and anything to us.
  bool ended_from_outside() const {
    if (report_.killed != Killed::no) return report_.killed == Killed::leash;
    sigset_t waiting;
    sigpending(&waiting);
    const bool all_end = sigismember(&waiting, SIGTERM) == 1;
    return report_.signal == SIGKILL || (report_.signal == SIGTERM && all_end);
  }

  // Nobody is kept waiting for one who will say nothing any more.
  void leave() { clock_.ended(program_.member); }

  // Only where tests have the outcome told before everything is dead.
  void end_late() {
    const timespec while_judged = {1, 0};
    nanosleep(&while_judged, nullptr);
    kill_all();
  }

 private:
  void prepare() {
    keep_only_ours();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    sigset_t watched;
    sigemptyset(&watched);
    sigaddset(&watched, SIGCHLD);
    sigaddset(&watched, SIGTERM);
    sigprocmask(SIG_SETMASK, &watched, nullptr);
    watched_ = watched;
    if (asks_) signals_ = sys::Fd(signalfd(-1, &watched_, SFD_CLOEXEC));
    if (room_.pid && room_.shared.empty()) {
      if (!mount_proc()) sys::fail_errno("own /proc");
      own_proc_ = sys::Fd(open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC));
      proc_ = own_proc_.get();
    }
    self_there_ = own_pid(proc_);
    // The folder cannot be found by its name later: the program hides it.
    if (program_.limits.disk != unlimited || program_.limits.names != unlimited)
      folder_ = sys::Fd(open((room_.job + "/" + program_.folder).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  }

  // Nothing of the machine's load and memory, from 5.8 on, where hostile programs or sources may look.
  bool mount_proc() const {
    constexpr unsigned long flags = MS_NOSUID | MS_NODEV | MS_NOEXEC;
    const bool hostile = program_.profile == seccomp::Profile::submission || program_.proc_of_box;
    const char* options = hostile ? "subset=pid" : nullptr;
    return mount("proc", "/proc", "proc", flags, options) == 0 || mount("proc", "/proc", "proc", flags, nullptr) == 0;
  }

  void start() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) sys::fail_errno("pipe");
    sys::Fd reading(ends[0]), writing(ends[1]);
    clock_.stay_here();
    int talk[2] = {-1, -1};
    if (asks_ && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, talk) != 0)
      sys::fail_errno("socketpair");
    sys::Fd hearing(talk[0]), telling(talk[1]);
    child_ = static_cast<pid_t>(sys::made(fork));
    if (child_ < 0) sys::fail_errno("fork");
    if (child_ == 0) become(room_, program_, proc_, writing.get(), telling.get());
    writing.reset();
    const News news = await_start(reading.get());
    reading.reset();
    if (hearing.valid()) listen_to(take_starts(hearing.get()));
    hearing.reset(), telling.reset();
    forget_its_files();
    child_there_ = news.there;
    started_at_ = news.started_us;
    account_.start(started_at_);
    waited_us_ = kept_waiting_us();
  }

  // Everything else goes at once, hundreds of tests' files among it, so that it is closed once and not again by the
  // program. And whoever holds an end of another program's pipe keeps its reader waiting.
  void keep_only_ours() const {
    if (!room_.layers.on("descriptors")) return;
    std::vector<int> kept = program_.inherited;
    for (const sandbox::Grant& grant : room_.system) kept.push_back(grant.fd.get());
    for (const int fd : {report_fd_, proc_, program_.kept, program_.file, program_.input, program_.output,
        program_.error})
      if (fd >= 0) kept.push_back(fd);
    close_others(kept);
  }

  // The program's own descriptors are its own from here on.
  void forget_its_files() const {
    if (room_.layers.on("descriptors"))
      close_others({report_fd_, proc_, program_.kept, own_proc_.get(), folder_.get(), signals_.get(),
          starts_ ? starts_->descriptor() : -1});
  }

  void listen_to(sys::Fd asked) {
    if (asked.valid())
      starts_.emplace(std::move(asked), program_.processes - 1);
    else if (!alone_)
      sys::fail("the program's processes cannot be counted");
  }

  void wait_for_news() {
    const timespec patience = {0, crowded_ || submission_ ? poll_ns : poll_tree_ns};
    const int64_t began = sys::now_us();
    const int news = starts_ ? next_signal(patience) : sigtimedwait(&watched_, nullptr, &patience);
    const int64_t took_us = sys::now_us() - began;
    took_us_ += took_us, slept_us_ += std::min<int64_t>(took_us, patience.tv_nsec / 1000);
    if (news == SIGTERM) finish(Killed::leash);
  }

  // But for what it waited for a processor: one that asks waits as long for its answer, and that is no idling.
  void tell_sleep() {
    account_.slept(std::clamp<int64_t>(took_us_ - (kept_waiting_us() - waited_us_), 0, slept_us_));
    took_us_ = slept_us_ = 0;
  }

  int64_t kept_waiting_us() const { return starts_ ? resource_usage::waited_us(proc_, self_there_) : 0; }

  // The same, and answers whoever asks for another process or thread.
  int next_signal(const timespec& patience) {
    const int asked = nobody_asks_ ? -1 : starts_->descriptor();
    pollfd both[] = {{signals_.get(), POLLIN, 0}, {asked, static_cast<short>(held_ ? 0 : POLLIN), 0}};
    ppoll(both, 2, &patience, nullptr);
    if (both[1].revents & POLLHUP) nobody_asks_ = true;  // all are ending, which takes long with much memory
    only_answered_ = (both[1].revents & POLLIN) && !both[0].revents;
    if (both[1].revents & POLLIN) hear();
    const timespec none = {};
    return both[0].revents ? sigtimedwait(&watched_, nullptr, &none) : 0;
  }

  // A thread too many waits. Runtimes join threads before they have ended: on a busy machine those that end crowd, and
  // want a processor first.
  void hear() {
    const std::optional<seccomp::Starts::Question> question = starts_->next();
    if (!question) return;
    if (question->thread && room_.layers.on("polling") && !one_more_thread())
      held_ = question, held_since_cpu_us_ = -1, still_ = 0;
    else
      starts_->answer(*question);
  }

  // Collects every process that has ended. Orphans come here too: this process is the first of its namespace, or a
  // subreaper. Returns whether any process is left.
  bool reap(int options) {
    int status = 0;
    rusage usage;
    pid_t pid;
    while ((pid = wait4(-1, &status, options, &usage)) > 0) {
      reaped_cpu_us_ += cpu_of(usage);
      largest_reaped_ = std::max<int64_t>(largest_reaped_, usage.ru_maxrss * 1024LL);
      if (pid != child_) continue;
      ended_ = true;
      ended_at_ = sys::now_us();
      report_.code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
      report_.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    }
    return pid == 0;
  }

  // Of several threads seldom, where that is enough: each of them has to be asked.
  void note_waits() {
    const int64_t now = sys::now_us();
    const bool matters = account_.matters(now), single = alone_ && !program_.threads;
    if (!single && !matters && now < note_again_) return;
    note_again_ = now + notes_us;
    const std::vector<std::string> lone = {std::to_string(child_there_)};
    waits_.note(proc_, single ? lone : resource_usage::threads_in(proc_, processes()), now, matters);
  }

  std::vector<pid_t> processes() const {
    return alone_ ? std::vector<pid_t>{child_there_} : resource_usage::descendants(proc_, self_there_);
  }

  // What is computed without a limit is no excuse.
  static idle_time::Patience patience(const Program& program) {
    const Limits& limits = program.limits;
    const bool trusted = program.profile != seccomp::Profile::submission;
    return {limits.wall_us, limits.hard_us, limits.cpu_us == unlimited, trusted, program.quiet};
  }

  void enforce() {
    if (!room_.layers.on("polling")) return;
    const int64_t now = sys::now_us();
    resource_usage::Usage usage = alone_ ? resource_usage::of_process(proc_, child_there_, child_)
                                         : resource_usage::of_descendants(proc_, self_there_);
    // A file that it can read again is memory, too. Who writes without an end is to blame for that, whoever looks
    // first.
    const int64_t kept = program_.kept >= 0 ? files::blocks(program_.kept) : 0;
    const bool mostly_written = kept > usage.memory;
    const Limits& limits = program_.limits;
    const auto over = [&] { return limits.memory != unlimited && usage.memory + kept > limits.memory; };
    // What several share counts once; to find that out takes long.
    if (!alone_ && starts_ && over()) usage.memory = resource_usage::shared_once(proc_, processes());
    const bool too_much = over();
    if (!mostly_written) usage.memory += kept;
    report_.memory = std::max(report_.memory, usage.memory);
    if (held_) usage.at_disk = false;  // a signal that came meanwhile has put it into that state, and no disk
    const int64_t disk_work =
        account_.asks_for_disk_work(usage.at_disk) ? resource_usage::disk_work(proc_, child_there_) : 0;
    const bool ready = usage.ready || waits_.ready();
    account_.look({now, reaped_cpu_us_ + usage.cpu_us, waits_.total_us(), ready, usage.at_disk, disk_work});
    const idle_time::Account::End end = account_.end(now);
    crowded_ = limits.processes != unlimited && usage.processes > limits.processes / crowd;
    if (end != idle_time::Account::End::none)
      report_.stalled = end == idle_time::Account::End::stalled, finish(Killed::wall);
    else if (limits.cpu_us != unlimited && reaped_cpu_us_ + usage.cpu_us > cpu_limit(limits, is_crowded()))
      finish(Killed::cpu);
    else if ((limits.processes != unlimited && usage.processes > limits.processes) || (starts_ && starts_->too_many()))
      finish(Killed::processes);
    else if (too_many_threads(reaped_cpu_us_ + usage.cpu_us))
      finish(Killed::threads);
    else if (wrote_too_much() || (too_much && mostly_written))
      finish(Killed::disk);
    else if (too_much)
      relieve(usage);
  }

  bool is_crowded() const { return idle_time::is_crowded(program_.limits.cpu_us, waits_.total_us()); }

  // RLIMIT_NPROC would count the threads of everything that the same user runs, so they are counted here.
  bool too_many_threads(int64_t cpu_us) {
    if (program_.limits.threads == unlimited) return false;
    if (held_) return is_held_for_good(cpu_us);
    threads_ = count_threads();
    return threads_ > most_threads() && !(starts_ && asks_for_threads(room_, program_));
  }

  // Whether those that were there already stay.
  bool is_held_for_good(int64_t cpu_us) {
    threads_ = count_threads() + 1;
    if (threads_ <= most_threads()) {
      let_the_held_go();
      return false;
    }
    if (held_since_cpu_us_ < 0) held_since_cpu_us_ = cpu_us;
    still_ = resource_usage::any_moves(proc_, processes()) ? 0 : still_ + 1;
    if (still_ <= looks_of_patience && cpu_us - held_since_cpu_us_ <= cpu_of_patience_us) return false;
    if (threads_ > most_threads() + program_.limits.threads) return true;
    let_the_held_go();
    return false;
  }

  void let_the_held_go() {
    starts_->answer(*held_);
    held_.reset();
  }

  int64_t most_threads() const {
    const int64_t limit = program_.limits.threads;
    return limit == unlimited ? INT64_MAX : limit + threads_about_to_end;
  }

  int64_t count_threads() const {
    int64_t threads = 1;
    for (const pid_t pid : processes()) threads += resource_usage::threads_of(proc_, pid) - 1;
    return threads;
  }

  // Some have ended since the last look.
  bool one_more_thread() {
    if (++threads_ > most_threads()) threads_ = count_threads() + 1;
    return threads_ <= most_threads();
  }

  // Looking at a large folder takes long, so that it is done the less often the longer it takes.
  bool wrote_too_much() {
    const int64_t now = sys::now_us();
    if (!folder_.valid() || now < look_again_) return false;
    const Limits& limits = program_.limits;
    const int64_t most = limits.names == unlimited ? INT64_MAX - 1 : limits.names;
    const resource_usage::Contents contents = resource_usage::contents_of(folder_.get(), most);
    const int64_t end = sys::now_us();
    look_again_ = end + std::max<int64_t>(look_us, 50 * (end - now));
    return contents.names > most || (limits.disk != unlimited && contents.bytes > limits.disk);
  }

  // As the kernel does when a memory group is full: the largest process dies, a shell that started it may live and say
  // so. Not a compiler's: nobody could tell from what the shell says who killed it.
  void relieve(const resource_usage::Usage& usage) {
    if (usage.largest == child_there_ || submission_ || program_.profile == seccomp::Profile::tool) {
      finish(Killed::memory);
      return;
    }
    for (const pid_t pid : resource_usage::descendants(proc_, self_there_))
      if (pid == usage.largest) kill(pid, SIGKILL);
  }

  void finish(Killed reason) {
    if (report_.killed == Killed::no) report_.killed = reason;
    note_waits();
    kill(child_, SIGKILL);
    kill_rest();
    while (!ended_ && reap(WNOHANG)) pause_briefly();
    if (!ended_) sys::fail("the program vanished");
  }

  void kill_rest() const {
    if (!room_.layers.on("reaping")) return;
    if (room_.pid) {
      kill(-1, SIGKILL);  // everything in this pid namespace but its first process
      return;
    }
    kill(-child_, SIGKILL);
    for (const pid_t pid : resource_usage::descendants(proc_, self_there_)) kill(pid, SIGKILL);
  }

  // Until nothing is left: an orphan may have had children while its parent was being killed.
  void kill_all() {
    if (!room_.layers.on("reaping")) return;
    for (int patience = 50000; patience > 0; --patience) {
      kill_rest();
      if (!reap(WNOHANG)) return;
      pause_briefly();
    }
    sys::fail("some processes of the program could not be killed");
  }

  static void pause_briefly() {
    const timespec moment = {0, 200 * 1000};
    nanosleep(&moment, nullptr);
  }

  const sandbox::Room& room_;
  const Program& program_;
  std::optional<idle_time::Clock> own_clock_;
  idle_time::Clock& clock_;
  const bool submission_;
  const bool alone_;  // its filter allows no second process
  const bool asks_;   // before it starts another process, or thread
  std::optional<seccomp::Starts> starts_;  // of one that asks
  int proc_, report_fd_;
  sys::Fd own_proc_, folder_, signals_;
  sigset_t watched_;
  Report report_ = {};
  pid_t child_ = -1, child_there_ = -1, self_there_ = -1;
  std::optional<seccomp::Starts::Question> held_;
  int still_ = 0;  // looks at which nothing moved
  bool ended_ = false, crowded_ = false, only_answered_ = false, nobody_asks_ = false;
  resource_usage::Waits waits_;
  idle_time::Account account_;
  int64_t started_at_ = 0, ended_at_ = 0, reaped_cpu_us_ = 0, largest_reaped_ = 0, look_again_ = 0, note_again_ = 0,
          ticks_us_ = 0, threads_ = 1, look_due_ = 0, held_since_cpu_us_ = -1, took_us_ = 0, slept_us_ = 0,
          waited_us_ = 0;
};

}  // namespace

void supervise(const sandbox::Room& room, const Program& program, int report) {
  Report result = {};
  Supervisor supervisor(room, program, report);
  try {
    result = supervisor.run();
  } catch (const sys::Failure& failure) {
    supervisor.leave();
    std::strncpy(result.failure, failure.text.c_str(), sizeof result.failure - 1);
  }
  const ssize_t written = write(report, &result, sizeof result);
  if (!room.layers.on("order")) supervisor.end_late();
  _exit(written == sizeof result ? 0 : 1);
}

}  // namespace process
