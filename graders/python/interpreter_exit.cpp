#include "interpreter_exit.hpp"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <malloc.h>
#include <unistd.h>
#include <vector>

#include "sys.hpp"

extern "C" {
struct PyObject;
struct PyThreadState;
struct PyInterpreterState;
extern PyObject _Py_NoneStruct;
extern PyObject* PyExc_SystemExit;
struct PyMethodDef {
  const char* name;
  PyObject* (*function)(PyObject*, PyObject*);
  int flags;
  const char* doc;
};
using EvalFrame = PyObject* (*)(PyThreadState*, void*, int);
void Py_IncRef(PyObject*);
void Py_DecRef(PyObject*);
void PyErr_Clear();
PyObject* PyErr_Occurred();
void PyErr_Fetch(PyObject**, PyObject**, PyObject**);
void PyErr_Restore(PyObject*, PyObject*, PyObject*);
PyObject* PyCapsule_New(void*, const char*, void (*)(PyObject*));
PyObject* PyCFunction_NewEx(PyMethodDef*, PyObject*, PyObject*);
int PyDict_Next(PyObject*, ssize_t*, PyObject**, PyObject**);
PyObject* PyDict_GetItemWithError(PyObject*, PyObject*);
PyObject* PyDict_GetItemString(PyObject*, const char*);
PyObject* PyDict_New();
PyObject* PyDict_Copy(PyObject*);
int PyDict_SetItem(PyObject*, PyObject*, PyObject*);
ssize_t PyDict_Size(PyObject*);
int PyDict_SetItemString(PyObject*, const char*, PyObject*);
PyObject* PyImport_GetModuleDict();
PyInterpreterState* PyInterpreterState_Get();
PyObject* PyInterpreterState_GetDict(PyInterpreterState*);
PyObject* PyList_GetItem(PyObject*, ssize_t);
ssize_t PyList_Size(PyObject*);
long PyLong_AsLong(PyObject*);
PyObject* PyModule_GetDict(PyObject*);
PyObject* PyObject_CallFunctionObjArgs(PyObject*, ...);
PyObject* PyObject_GetAttrString(PyObject*, const char*);
PyObject* PyObject_Type(PyObject*);
const char* PyUnicode_AsUTF8AndSize(PyObject*, ssize_t*);
PyObject* PySys_GetObject(const char*);
PyObject* PyWeakref_NewRef(PyObject*, PyObject*);
__attribute__((weak)) int Py_IsFinalizing();
__attribute__((weak)) int _Py_IsFinalizing();
__attribute__((weak)) PyObject* _PyEval_EvalFrameDefault(PyThreadState*, void*, int);
__attribute__((weak)) void _PyInterpreterState_SetEvalFrameFunc(PyInterpreterState*, EvalFrame);
}

namespace interpreter_exit {
namespace {

constexpr int method_with_one_argument = 0x0008;  // METH_O

// A module that was imported before the first fork.
struct LoadedModule {
  PyObject *name, *module;
  uint64_t names_hash;
  bool changes_after_fork;  // whether the module changes in a forked process before a program runs
};

std::vector<LoadedModule> loaded_modules;
// sys.modules. The reference is stored, because the interpreter aborts if it is asked for sys.modules during shutdown.
PyObject* modules;
PyObject *sys_names, *builtin_names;                  // The dictionaries of the modules sys and builtins.
PyObject *initial_sys_names, *initial_builtin_names;  // Their content before a program ran; for sys only the names.
PyObject* standard_streams[2];
PyObject* main_names;  // The dictionary of the module __main__.
// Whether the exit code is known, and whether the rest of the interpreter's shutdown may be skipped, because no object
// of the program notices it.
bool is_exit_code_known, may_skip_cleanup;
bool has_no_new_modules;  // Whether the program has imported no further module.
ssize_t initial_module_count;
int exit_code;

bool is_finalizing() { return Py_IsFinalizing ? Py_IsFinalizing() : _Py_IsFinalizing && _Py_IsFinalizing(); }

// --- the exit code of the script ---------------------------------------------------------------------

// Records the exit code that the interpreter will use. It stays unknown if that would print a message or call a method
// of a class of the program.
void record_exit_code() {
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  if (type == PyExc_SystemExit) {
    PyObject* const type_of_value = value ? PyObject_Type(value) : nullptr;
    PyObject* const code_object = type_of_value == type ? PyObject_GetAttrString(value, "code") : value;
    exit_code = code_object && code_object != &_Py_NoneStruct ? static_cast<int>(PyLong_AsLong(code_object)) : 0;
    is_exit_code_known = !PyErr_Occurred();
    if (type_of_value == type && code_object) Py_DecRef(code_object);
    if (type_of_value) Py_DecRef(type_of_value);
  }
  PyErr_Restore(type, value, trace);
}

// Returns whether a frame belongs to the script. In every version, the first fields of its frame contain the names of
// the main module.
bool is_script_frame(const void* frame) {
  constexpr size_t searched_fields = 10;
  PyObject* const* const frame_fields = static_cast<PyObject* const*>(frame);
  for (size_t i = 0; i < searched_fields; ++i)
    if (frame_fields[i] == main_names) return true;
  return false;
}

// Evaluates a frame like the interpreter, and records the exit code after the script's frame.
PyObject* evaluate_frame(PyThreadState* thread, void* frame, int thrown) {
  PyInterpreterState* const interpreter = PyInterpreterState_Get();
  const bool is_of_script = is_script_frame(frame);
  _PyInterpreterState_SetEvalFrameFunc(interpreter, _PyEval_EvalFrameDefault);
  PyObject* const result = _PyEval_EvalFrameDefault(thread, frame, thrown);
  if (!is_of_script)
    _PyInterpreterState_SetEvalFrameFunc(interpreter, evaluate_frame);
  else if (result)
    is_exit_code_known = true;
  else
    record_exit_code();
  return result;
}

// --- early exit -----------------------------------------------------------------------------------------

// Returns a hash that changes when a name is added, removed or assigned. It only reads, so no page is copied.
uint64_t hash_module_names(PyObject* names_dict) {
  PyObject *name = nullptr, *value = nullptr;
  uint64_t hash = 1;
  for (ssize_t position = 0; PyDict_Next(names_dict, &position, &name, &value);)
    for (const PyObject* const name_or_value : {name, value})
      hash = (hash ^ reinterpret_cast<uintptr_t>(name_or_value)) * 0x9e3779b97f4a7c15 + (hash >> 29);
  return hash;
}

// Returns whether a standard stream can be flushed. A stream that cannot, or that the program has replaced, may change
// the exit code.
bool can_flush_stream(const char* name, PyObject* stream) {
  if (!stream || PySys_GetObject(name) != stream) return false;
  PyObject* const type = PyObject_Type(stream);
  PyObject* const flush = PyObject_GetAttrString(type, "flush");
  PyObject* const result = flush ? PyObject_CallFunctionObjArgs(flush, stream, nullptr) : nullptr;
  for (PyObject* const object : {type, flush, result})
    if (object) Py_DecRef(object);
  PyErr_Clear();
  return result;
}

// Returns whether each name of a module still has its initial value. By now the interpreter has set some names to None.
bool has_only_initial_values(PyObject* names_dict, PyObject* initial_names_dict) {
  PyObject *name = nullptr, *value = nullptr;
  for (ssize_t position = 0; PyDict_Next(names_dict, &position, &name, &value);) {
    const PyObject* const initial_value = PyDict_GetItemWithError(initial_names_dict, name);
    if (value != &_Py_NoneStruct && initial_value != value && initial_value != &_Py_NoneStruct) return false;
  }
  return true;
}

// Returns whether the program has changed no module. Objects that it stored in modules may run code when they are
// destroyed.
bool are_modules_unchanged() {
  for (const LoadedModule& loaded : loaded_modules)
    if (PyDict_GetItemWithError(modules, loaded.name) != loaded.module ||
        hash_module_names(PyModule_GetDict(loaded.module)) != loaded.names_hash)
      return false;
  return has_only_initial_values(sys_names, initial_sys_names) &&
      has_only_initial_values(builtin_names, initial_builtin_names);
}

// Hides the initial modules from the interpreter's shutdown, which destroys those it finds.
PyObject* hide_initial_modules(PyObject*, PyObject*) {
  if (is_finalizing() && are_modules_unchanged()) {
    has_no_new_modules = PyDict_Size(modules) == initial_module_count;
    may_skip_cleanup = is_exit_code_known && can_flush_stream("stdout", standard_streams[0]) &&
        can_flush_stream("stderr", standard_streams[1]);
    for (const LoadedModule& loaded : loaded_modules) PyDict_SetItem(modules, loaded.name, &_Py_NoneStruct);
  }
  PyErr_Clear();
  Py_IncRef(&_Py_NoneStruct);
  return &_Py_NoneStruct;
}

// Ends the process, after all objects of the program have been destroyed. The remaining shutdown of initial modules has
// no visible effect.
void exit_without_cleanup(PyObject* /* exit_capsule */) {
  if (!may_skip_cleanup) return;
  if (!has_no_new_modules) std::exit(exit_code);
  std::fflush(nullptr);
  _exit(exit_code);
}

// Adds a module to `loaded_modules`, unless the interpreter destroys it in a special way.
void add_loaded_module(PyObject* name, PyObject* module) {
  ssize_t length = 0;
  const char* const text = PyUnicode_AsUTF8AndSize(name, &length);
  for (const char* special_module : {"__main__", "sys", "builtins"})  // the interpreter destroys these in a special way
    if (!text || std::strcmp(text, special_module) == 0) return PyErr_Clear();
  PyObject* const names = PyModule_GetDict(module);
  if (!names) return PyErr_Clear();
  Py_IncRef(name);
  Py_IncRef(module);
  loaded_modules.push_back({name, module, hash_module_names(names), std::strcmp(text, "threading") == 0});
}

// Returns the dictionary with the names of a module.
PyObject* find_module_names_dict(const char* module_name) {
  PyObject* const module = PyDict_GetItemString(modules, module_name);
  PyObject* const names = module ? PyModule_GetDict(module) : nullptr;
  if (!names) sys::fail("this module has no names: " + std::string(module_name));
  return names;
}

// Registers `hide_initial_modules` and `exit_without_cleanup`. The last path hook, to which nothing else refers, is
// destroyed after everything that a program may have registered for its exit, and right before the modules. The
// interpreter's dictionary for extensions is destroyed after the modules.
bool register_callbacks() {
  static PyMethodDef method = {"take_modules_away", hide_initial_modules, method_with_one_argument, nullptr};
  PyObject* const hooks = PySys_GetObject("path_hooks");
  const ssize_t count = hooks ? PyList_Size(hooks) : 0;
  PyObject* const last_hook = count > 0 ? PyList_GetItem(hooks, count - 1) : nullptr;
  PyObject* const interpreter_dict = PyInterpreterState_GetDict(PyInterpreterState_Get());
  PyObject* const exit_capsule = PyCapsule_New(interpreter_dict, nullptr, exit_without_cleanup);
  if (!last_hook || !interpreter_dict || !exit_capsule ||
      PyDict_SetItemString(interpreter_dict, "leave", exit_capsule) != 0)
    return false;
  Py_DecRef(exit_capsule);
  return PyWeakref_NewRef(last_hook, PyCFunction_NewEx(&method, nullptr, nullptr));
}

}  // namespace

void prepare_early_exit() {
  PyObject *name = nullptr, *module = nullptr;
  modules = PyImport_GetModuleDict();
  Py_IncRef(modules);
  for (ssize_t position = 0; PyDict_Next(modules, &position, &name, &module);) add_loaded_module(name, module);
  initial_module_count = PyDict_Size(modules);
  standard_streams[0] = PySys_GetObject("stdout");
  standard_streams[1] = PySys_GetObject("stderr");
  main_names = find_module_names_dict("__main__"), sys_names = find_module_names_dict("sys"),
  builtin_names = find_module_names_dict("builtins");
  initial_sys_names = PyDict_New(), initial_builtin_names = PyDict_Copy(builtin_names);
  for (ssize_t position = 0; PyDict_Next(sys_names, &position, &name, &module);)
    PyDict_SetItem(initial_sys_names, name, &_Py_NoneStruct);
  if (!register_callbacks()) sys::fail("cannot register callbacks for the interpreter's exit");
#ifdef __GLIBC__
  malloc_trim(0);  // frees and joins memory once, instead of in each forked process
#endif
}

void watch_for_script_end() {
  for (LoadedModule& loaded : loaded_modules)
    if (loaded.changes_after_fork) loaded.names_hash = hash_module_names(PyModule_GetDict(loaded.module));
  if (_PyEval_EvalFrameDefault && _PyInterpreterState_SetEvalFrameFunc)
    _PyInterpreterState_SetEvalFrameFunc(PyInterpreterState_Get(), evaluate_frame);
}

}  // namespace interpreter_exit
