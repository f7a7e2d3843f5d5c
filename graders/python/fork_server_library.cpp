// The library of the fork server, loaded by a Python interpreter. It receives programs from the proctor and forks a
// process for each of them, with the same steps that confine a started program. The forked process runs the
// interpreter's main function, on the script that has replaced the fork server's script. It needs no headers of Python,
// because it calls the stable part of Python's interface.
#include <cstdio>
#include <cstdlib>
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>

#include "child.hpp"
#include "interpreter_exit.hpp"
#include "process.hpp"
#include "messages.hpp"

extern "C" {
struct PyObject;
struct PyThreadState;
struct PyInterpreterState;
void PyOS_BeforeFork();
void PyOS_AfterFork_Parent();
void PyOS_AfterFork_Child();
PyThreadState* PyThreadState_Get();
PyThreadState* PyThreadState_New(PyInterpreterState*);
PyThreadState* PyThreadState_Swap(PyThreadState*);
void PyThreadState_Clear(PyThreadState*);
void PyThreadState_Delete(PyThreadState*);
PyInterpreterState* PyInterpreterState_Get();
__attribute__((weak)) void _PyInterpreterState_SetNotRunningMain(PyInterpreterState*);
__attribute__((weak)) extern char _PyRuntime[];
const char* Py_GetVersion();
PyObject* PySys_GetObject(const char*);
PyObject* PyUnicode_FromString(const char*);
const char* PyUnicode_AsUTF8AndSize(PyObject*, ssize_t*);
PyObject* PyList_GetItem(PyObject*, ssize_t);
int PyList_Append(PyObject*, PyObject*);
int Py_RunMain();
}

namespace {

constexpr int control_fd = 3;

int find_python_minor_version() {
  int major = 0, minor = 0;
  return std::sscanf(Py_GetVersion(), "%d.%d", &major, &minor) == 2 ? minor : 0;
}

// Returns whether the interpreter records in which thread its main function runs (3.12 and newer).
bool is_main_thread_recorded() { return find_python_minor_version() >= 12; }

// Returns the field of the runtime that points to the main thread, which receives signals (3.13 and newer). It follows
// the system's id of this thread among the first fields.
PyThreadState** find_main_thread_field() {
  constexpr size_t max_searched_fields = 512;
  void** const fields = reinterpret_cast<void**>(_PyRuntime);
  PyThreadState* const thread = PyThreadState_Get();
  for (size_t i = 1; _PyRuntime && i < max_searched_fields; ++i)
    if (fields[i] == thread && fields[i - 1] == reinterpret_cast<void*>(pthread_self()))
      return reinterpret_cast<PyThreadState**>(&fields[i]);
  sys::fail("cannot find the main thread of this interpreter");
}

// Creates a new thread state, sets it as the current state, and returns the former state.
PyThreadState* switch_to_new_thread(PyInterpreterState* interpreter) {
  return PyThreadState_Swap(PyThreadState_New(interpreter));
}

void delete_thread(PyThreadState* thread) {
  PyThreadState_Clear(thread);
  PyThreadState_Delete(thread);
}

// Gives a forked process a new main thread, because the frames of the fork server's script belong to a thread that no
// longer exists. Before 3.12, PyGILState_Ensure uses a new thread state only if it is created while no state exists,
// and an interpreter always has a state; so two are created. The module `threading` must handle their exit before it
// handles the fork.
void replace_main_thread_after_fork() {
  PyInterpreterState* const interpreter = PyInterpreterState_Get();
  if (is_main_thread_recorded()) {
    PyOS_AfterFork_Child();
    _PyInterpreterState_SetNotRunningMain(interpreter);
    PyThreadState** const main_thread_field = find_python_minor_version() >= 13 ? find_main_thread_field() : nullptr;
    switch_to_new_thread(interpreter);
    if (main_thread_field) *main_thread_field = PyThreadState_Get();
    return;
  }
  delete_thread(switch_to_new_thread(interpreter));
  delete_thread(switch_to_new_thread(interpreter));
  PyOS_AfterFork_Child();
}

// Appends an argument to sys.argv and sys.orig_argv.
void append_script_argument(const std::string& argument) {
  for (const char* name : {"argv", "orig_argv"})
    if (PyObject* const arguments = PySys_GetObject(name))
      PyList_Append(arguments, PyUnicode_FromString(argument.c_str()));
}

// Returns whether the first argument names an archive.
bool is_script_zip_archive() {
  PyObject *const arguments = PySys_GetObject("argv"),
                  *const first = arguments ? PyList_GetItem(arguments, 0) : nullptr;
  const char* const path = first ? PyUnicode_AsUTF8AndSize(first, nullptr) : nullptr;
  char magic[2] = {};
  const sys::Fd script(path ? open(path, O_RDONLY | O_CLOEXEC) : -1);
  return !script.valid() || read(script.get(), magic, sizeof magic) != sizeof magic ||
      std::memcmp(magic, "PK", sizeof magic) == 0;
}

// Runs the submission's script in a forked process, and exits.
[[noreturn]] void run_script(const process::Program& program) {
  replace_main_thread_after_fork();
  if (!is_script_zip_archive()) interpreter_exit::watch_for_script_end();
  if (program.argument_fd >= 0) append_script_argument(std::to_string(program.argument_fd));
  std::exit(Py_RunMain());
}

// Fails if the interpreter has further threads. A forked process would lack them, and the locks that they hold would
// never be released.
void fail_if_other_threads_run() {
  int threads = 0;
  DIR* const folder = opendir("/proc/self/task");
  while (const dirent* const entry = folder ? readdir(folder) : nullptr) threads += entry->d_name[0] != '.';
  if (folder) closedir(folder);
  if (threads != 1) sys::fail("a preloaded module has started threads");
}

// Fails if the interpreter has shared writable memory, because a forked process could change it for all other
// processes.
void fail_if_memory_is_shared() {
  FILE* const maps = std::fopen("/proc/self/maps", "re");
  if (!maps) sys::fail_errno("cannot open /proc/self/maps");
  char line[4096], rights[8];
  bool has_shared = false;
  while (std::fgets(line, sizeof line, maps))
    if (std::sscanf(line, "%*s %7s", rights) == 1) has_shared = has_shared || (rights[1] == 'w' && rights[3] == 's');
  std::fclose(maps);
  if (has_shared) sys::fail("a preloaded module shares memory");
}

// Makes malloc join freed pieces with a large request: once here, instead of in each forked process, which would copy a
// page for each piece.
void merge_freed_malloc_blocks() {
  void* volatile large_block = std::malloc(1 << 16);
  std::free(large_block);
}

// Forks a supervisor whose program runs the script, and sends the supervisor's pid to the proctor, or an error.
void fork_and_run_program(const sandbox::Sandbox& sandbox, const messages::ForkServerMessage& message) {
  process::Program program = messages::decode_program(message);
  program.entry_point = run_script;
  merge_freed_malloc_blocks();
  PyOS_BeforeFork();
  pid_t supervisor = -1;
  std::string error;
  try {
    supervisor = process::start_supervisor(sandbox, program, message.fds.at(0), CLONE_PARENT);
  } catch (const sys::Failure& failure) {
    error = failure.message;
  }
  PyOS_AfterFork_Parent();
  for (const int fd : message.fds) close(fd);
  if (error.empty()) error.assign(reinterpret_cast<const char*>(&supervisor), sizeof supervisor);
  messages::send_message(control_fd, {error, {}});
}

// Replaces the interpreter's first folder by the submission's folder.
void set_up_mounts(const sandbox::Sandbox& sandbox) {
  constexpr const char* folder = "/box";
  if (chdir("/") != 0 || umount2(folder, MNT_DETACH) != 0) sys::fail_errno("cannot leave the first folder");
  process::set_up_shared_mounts(sandbox);
  if (chdir(folder) != 0) sys::fail_errno("cannot enter the submission's folder");
}

// Prepares the interpreter, then forks a process for each program that the proctor sends.
void serve_requests() {
  prctl(PR_SET_DUMPABLE, 0);
  messages::ForkServerMessage message;
  if (!messages::receive_message(control_fd, message)) return;
  const sandbox::Sandbox sandbox = messages::decode_sandbox(message);
  if (is_main_thread_recorded() && !_PyInterpreterState_SetNotRunningMain)
    sys::fail("this interpreter cannot run its main function again");
  if (find_python_minor_version() >= 13) find_main_thread_field();
  fail_if_other_threads_run();
  fail_if_memory_is_shared();
  interpreter_exit::prepare_early_exit();
  if (!sandbox.shared_folder.empty()) set_up_mounts(sandbox);
  messages::send_message(control_fd, {"ready", {}});
  while (messages::receive_message(control_fd, message)) fork_and_run_program(sandbox, message);
}

}  // namespace

// Called by the interpreter when it loads the library. Serves until the proctor closes the socket, and never returns.
extern "C" __attribute__((visibility("default"))) PyObject* PyInit_waiting() {
  try {
    serve_requests();
  } catch (const sys::Failure& failure) {
    messages::send_message(control_fd, {failure.message, {}});
  }
  _exit(0);
}
