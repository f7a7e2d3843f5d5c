// Two processes that may not talk, and the best that each way between them gives. The first has bits, the second wants them.
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <dirent.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <string>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <unistd.h>
#include <vector>

using std::string;

static string bits;
static int partner;      // the number of the other process
static long long start;  // of the first slot
static double slot;

static double since_start() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (t.tv_sec * 1000000000LL + t.tv_nsec - start) / 1e9;
}
static void wait_until(double when) {
  while (since_start() < when - 100e-6) usleep(50);
  while (since_start() < when) {}
}

// --- in slots: the first does something or not, the second measures, and calls high what is above the median ---

template <class Do> static void send(Do something) {
  for (size_t i = 0; i < bits.size(); i++) {
    wait_until(i * slot);
    if (bits[i] == '1') something((i + 0.95) * slot);
  }
}
template <class Measure> static void hear(Measure measure, bool high_is_one) {
  std::vector<double> all;
  for (size_t i = 0; i < bits.size(); i++) {
    wait_until((i + 0.1) * slot);
    all.push_back(measure((i + 0.9) * slot));
  }
  std::vector<double> sorted = all;
  std::sort(sorted.begin(), sorted.end());
  for (size_t i = 0; i < bits.size(); i++) bits[i] = (all[i] > sorted[sorted.size() / 2]) == high_is_one ? '1' : '0';
}

static long work(double until) {
  long done = 0;
  for (volatile int x = 0; since_start() < until; done++) for (int i = 0; i < 200; i++) x = x + i;
  return done;
}
static std::vector<char> memory;
static long walk(double until) {
  long done = 0;
  for (size_t at = 0; since_start() < until; done++)
    for (int i = 0; i < 64; i++) memory[at = (at + 4096 + 64) % memory.size()]++;
  return done;
}
static void processor_first() { send(work); }
static void processor_second() { hear(work, false); }
static void memory_first() { memory.resize(64 << 20); send(walk); }
static void memory_second() { memory.resize(6 << 20); hear(walk, false); }
static void free_first() { send([](double until) { std::vector<char> all(3 << 20, 1); wait_until(until); }); }
static void free_second() { hear([](double until) { struct sysinfo s = {}; wait_until(until); sysinfo(&s); return (double)s.freeram; }, false); }

// --- many at once, the second when the first has done ---

static std::vector<string> files() {
  std::vector<string> found;
  for (const char* folder : {"/usr/share/doc", "/usr/lib", "/usr/share", "/usr/include"}) {
    std::vector<string> folders = {folder};
    for (size_t i = 0; i < folders.size() && i < 400; i++) {
      DIR* d = opendir(folders[i].c_str());
      while (dirent* e = d ? readdir(d) : nullptr) {
        const string path = folders[i] + "/" + e->d_name;
        struct stat s;
        if (e->d_name[0] == '.' || lstat(path.c_str(), &s) != 0) continue;
        if (S_ISDIR(s.st_mode)) folders.push_back(path);
        if (S_ISREG(s.st_mode) && s.st_size > 5000) found.push_back(path);
      }
      if (d) closedir(d);
    }
  }
  std::sort(found.begin(), found.end());
  if (found.size() > bits.size()) found.resize(bits.size());
  return found;
}
static bool fault(const string& path) {
  const int fd = open(path.c_str(), O_RDONLY);
  volatile char* page = (char*)mmap(nullptr, 4096, PROT_READ, MAP_SHARED, fd, 0);
  close(fd);
  if (page == MAP_FAILED) return false;
  rusage before, after;
  getrusage(RUSAGE_SELF, &before);
  const char c = page[0];
  static_cast<void>(c);
  getrusage(RUSAGE_SELF, &after);
  munmap((void*)page, 4096);
  return after.ru_majflt > before.ru_majflt;
}
static void touch_first() { const auto all = files(); for (size_t i = 0; i < all.size(); i++) if (bits[i] == '1') fault(all[i]); }
static void touch_second() { const auto all = files(); for (size_t i = 0; i < all.size(); i++) bits[i] = fault(all[i]) ? '0' : '1'; }
static void forget_first() {
  const auto all = files();
  for (const string& path : all) fault(path);
  for (size_t i = 0; i < all.size(); i++) {
    const int fd = open(all[i].c_str(), O_RDONLY);
    if (bits[i] == '1') posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    close(fd);
  }
}
static void forget_second() { const auto all = files(); for (size_t i = 0; i < all.size(); i++) bits[i] = fault(all[i]) ? '1' : '0'; }
// Read before it was changed, or a day ago: then the next reading is noted.
static void times_first() {
  const auto all = files();
  char c;
  for (size_t i = 0; i < all.size(); i++) {
    const int fd = open(all[i].c_str(), O_RDONLY);
    if (bits[i] == '1' && read(fd, &c, 1) < 0) abort();
    close(fd);
  }
}
static void times_second() {
  const auto all = files();
  const time_t now = time(nullptr);
  for (size_t i = 0; i < all.size(); i++) {
    struct stat s;
    bits[i] = stat(all[i].c_str(), &s) == 0 && s.st_atime > now - 5 ? '1' : '0';
  }
}
static void locks_first() {
  const int fd = open("/bin/sh", O_RDONLY);
  for (size_t i = 0; i < bits.size(); i++) {
    struct flock lock = {};
    lock.l_type = F_RDLCK, lock.l_start = 2 * i, lock.l_len = 1;
    if (bits[i] == '1') fcntl(fd, F_SETLK, &lock);
  }
}
static void locks_second() {
  const int fd = open("/bin/sh", O_RDONLY);
  for (size_t i = 0; i < bits.size(); i++) {
    struct flock lock = {};
    lock.l_type = F_WRLCK, lock.l_start = 2 * i, lock.l_len = 1;
    bits[i] = fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type == F_RDLCK ? '1' : '0';
  }
}
// Under its number in /proc a process has a name for each of its descriptors.
static void names_first() { for (size_t i = 0; i < bits.size(); i++) if (bits[i] == '1') dup2(0, 10 + i); }
static void names_second() {
  struct stat s;
  for (size_t i = 0; i < bits.size(); i++)
    bits[i] = lstat(("/proc/" + std::to_string(partner) + "/fd/" + std::to_string(10 + i)).c_str(), &s) == 0 ? '1' : '0';
}
// A name that somebody has asked for is known not to be there, and asking again is quicker.
static double asked(const string& name) {
  const double before = since_start();
  access(("/usr/share/" + name + std::to_string(start)).c_str(), F_OK);
  return since_start() - before;
}
static void missing_first() { for (size_t i = 0; i < bits.size(); i++) if (bits[i] == '1') asked("a" + std::to_string(i)); }
static void missing_second() {
  double fresh = 1, again = 1;
  for (int i = 0; i < 300; i++) fresh = std::min(fresh, asked("b" + std::to_string(i))), again = std::min(again, asked("b" + std::to_string(i)));
  for (size_t i = 0; i < bits.size(); i++) bits[i] = asked("a" + std::to_string(i)) < (fresh + again) / 2 ? '1' : '0';
}

// --- counts: of each slot the second sees how far one went ---

static long inode() {
  int ends[2] = {-1, -1};
  struct stat s = {};
  if (pipe(ends) == 0) fstat(ends[0], &s), close(ends[0]), close(ends[1]);
  return s.st_ino;
}
static void inodes_first() { send([](double until) { while (since_start() < until) inode(); }); }
static void inodes_second() { hear([](double until) { const long one = inode(); wait_until(until); return (double)(inode() - one); }, true); }
static long thread(int flags = 0, int* woken = nullptr) {
  static char stack[1 << 14];
  struct Body { static int run(void*) { syscall(SYS_exit, 0); return 0; } };
  return clone(Body::run, stack + sizeof stack - 64, CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | flags, nullptr, nullptr, nullptr, woken);
}
// A thread that ends is joined by whoever waits at a word, which may be one of a file that cannot be written.
static int* word() {
  static int* const found = (int*)mmap(nullptr, 4096, PROT_READ, MAP_SHARED, open("/bin/sh", O_RDONLY), 0);
  return found;
}
static void ends_first() { send([](double until) { while (since_start() < until) thread(CLONE_CHILD_CLEARTID, word()), usleep(100); }); }
static void ends_second() {
  hear([](double until) {
    const double left = until - since_start();
    const timespec patience = {0, std::max(0L, (long)(left * 1e9))};
    syscall(SYS_futex, word(), FUTEX_WAIT, *word(), &patience, nullptr, 0);
    const double spared = until - since_start();
    wait_until(until);
    return spared;
  }, true);
}
static void threads_first() { send([](double until) { while (since_start() < until) thread(), usleep(100); }); }
static void threads_second() { hear([](double until) { const long one = thread(); wait_until(until); return (double)(thread() - one); }, true); }
static long timers(int most) {
  sigevent event = {};
  event.sigev_notify = SIGEV_NONE;
  std::vector<int> made;
  for (int id; (int)made.size() < most && syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &id) == 0;) made.push_back(id);
  const long count = made.size();
  for (const int id : made) syscall(SYS_timer_delete, id);
  return count;
}
static void timers_first() {
  send([](double until) {
    sigevent event = {};
    event.sigev_notify = SIGEV_NONE;
    int id;
    if (syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &id) != 0) return;
    wait_until(until);
    syscall(SYS_timer_delete, id);
  });
}
static void timers_second() {
  const rlimit few = {8, 8};
  setrlimit(RLIMIT_SIGPENDING, &few);
  hear([](double) { return (double)timers(8); }, false);
}

static const struct { const char* name; void (*first)(); void (*second)(); } kinds[] = {
    {"timers", timers_first, timers_second}, {"locks", locks_first, locks_second}, {"forgotten-pages", forget_first, forget_second},
    {"free-memory", free_first, free_second}, {"inodes", inodes_first, inodes_second}, {"threads", threads_first, threads_second},
    {"first-touch", touch_first, touch_second}, {"times-of-files", times_first, times_second}, {"names-in-proc", names_first, names_second},
    {"missing-names", missing_first, missing_second}, {"ends-of-threads", ends_first, ends_second},
    {"memory", memory_first, memory_second}, {"processor", processor_first, processor_second},
};

int main(int argc, char** argv) {
  char kind[64];
  static char given[1 << 16];
  const bool first = argc > 1 && argv[1][0] == '0';
  signal(SIGPIPE, SIG_IGN);
  if (first) files();  // the folders are in memory by then
  printf("%d\n", getpid()), fflush(stdout);
  int microseconds;
  if (scanf("%63s %d %lld %d %65535s", kind, &partner, &start, &microseconds, given) != 5) return 3;
  slot = microseconds / 1e6;
  bits = given;
  for (const auto& each : kinds)
    if (!strcmp(each.name, kind)) (first ? each.first : each.second)();
  printf("%s\n", first ? "1" : bits.c_str()), fflush(stdout);
  while (first && getchar() != EOF) {}  // what it holds it holds until the other one has looked
}
