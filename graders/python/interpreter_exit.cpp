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

constexpr int one_argument = 0x0008;  // METH_O

struct LoadedModule {
  PyObject *name, *module;
  uint64_t names_hash;
  bool changes_after_fork;  // in a forked process, before a program runs there
};

std::vector<LoadedModule> loaded_modules;
PyObject* modules;  // held: when it is asked for too late, the interpreter gives up
PyObject *sys_names, *builtin_names;  // what these two modules hold
PyObject *initial_sys_names, *initial_builtin_names;  // and held before a program ran; of the first one the names only
PyObject* streams[2];
PyObject* main_names;      // of the main module
bool is_code_known, may_skip_cleanup;  // without the rest of the interpreter's end, which nothing of a program sees
bool has_no_new_modules;         // no module but those that were there
ssize_t initial_module_count;
int exit_code;

bool is_finalizing() { return Py_IsFinalizing ? Py_IsFinalizing() : _Py_IsFinalizing && _Py_IsFinalizing(); }

// --- how the script ended ----------------------------------------------------------------------------

// What the interpreter will make of it. Left unknown where that takes a text, or somebody's own class.
void record_exit_code() {
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  if (type == PyExc_SystemExit) {
    PyObject* const type_of_value = value ? PyObject_Type(value) : nullptr;
    PyObject* const code_object = type_of_value == type ? PyObject_GetAttrString(value, "code") : value;
    exit_code = code_object && code_object != &_Py_NoneStruct ? static_cast<int>(PyLong_AsLong(code_object)) : 0;
    is_code_known = !PyErr_Occurred();
    if (type_of_value == type && code_object) Py_DecRef(code_object);
    if (type_of_value) Py_DecRef(type_of_value);
  }
  PyErr_Restore(type, value, trace);
}

// The names of the main module are among the first fields of its frame, in every version.
bool is_script(const void* frame) {
  constexpr size_t fields = 10;
  PyObject* const* const first = static_cast<PyObject* const*>(frame);
  for (size_t i = 0; i < fields; ++i)
    if (first[i] == main_names) return true;
  return false;
}

PyObject* evaluate(PyThreadState* thread, void* frame, int thrown) {
  PyInterpreterState* const interpreter = PyInterpreterState_Get();
  const bool script = is_script(frame);
  _PyInterpreterState_SetEvalFrameFunc(interpreter, _PyEval_EvalFrameDefault);
  PyObject* const result = _PyEval_EvalFrameDefault(thread, frame, thrown);
  if (!script)
    _PyInterpreterState_SetEvalFrameFunc(interpreter, evaluate);
  else if (result)
    is_code_known = true;
  else
    record_exit_code();
  return result;
}

// --- the end -----------------------------------------------------------------------------------------

// Changes when a name is added, removed or given another value. It only reads: nothing is copied by it.
uint64_t names_hash(PyObject* names) {
  PyObject *name = nullptr, *value = nullptr;
  uint64_t hash = 1;
  for (ssize_t position = 0; PyDict_Next(names, &position, &name, &value);)
    for (const PyObject* const part : {name, value})
      hash = (hash ^ reinterpret_cast<uintptr_t>(part)) * 0x9e3779b97f4a7c15 + (hash >> 29);
  return hash;
}

// One that cannot be written out makes another exit code; so may one that the program has put into its place.
bool flush_succeeds(const char* name, PyObject* stream) {
  if (!stream || PySys_GetObject(name) != stream) return false;
  PyObject* const type = PyObject_Type(stream);
  PyObject* const flush = PyObject_GetAttrString(type, "flush");
  PyObject* const result = flush ? PyObject_CallFunctionObjArgs(flush, stream, nullptr) : nullptr;
  for (PyObject* const object : {type, flush, result})
    if (object) Py_DecRef(object);
  PyErr_Clear();
  return result;
}

// By now the end has emptied some names, and some that were not there.
bool has_only_known_names(PyObject* names, PyObject* known) {
  PyObject *name = nullptr, *value = nullptr;
  for (ssize_t position = 0; PyDict_Next(names, &position, &name, &value);) {
    const PyObject* const known_value = PyDict_GetItemWithError(known, name);
    if (value != &_Py_NoneStruct && known_value != value && known_value != &_Py_NoneStruct) return false;
  }
  return true;
}

// What a program has put into a module may have something to say when it goes, and then may or may not find the others.
bool modules_are_unchanged() {
  for (const LoadedModule& loaded : loaded_modules)
    if (PyDict_GetItemWithError(modules, loaded.name) != loaded.module ||
        names_hash(PyModule_GetDict(loaded.module)) != loaded.names_hash) return false;
  return has_only_known_names(sys_names, initial_sys_names) &&
      has_only_known_names(builtin_names, initial_builtin_names);
}

// The interpreter takes apart what it finds among the modules.
PyObject* hide_modules(PyObject*, PyObject*) {
  if (is_finalizing() && modules_are_unchanged()) {
    has_no_new_modules = PyDict_Size(modules) == initial_module_count;
    may_skip_cleanup = is_code_known && flush_succeeds("stdout", streams[0]) && flush_succeeds("stderr", streams[1]);
    for (const LoadedModule& loaded : loaded_modules) PyDict_SetItem(modules, loaded.name, &_Py_NoneStruct);
  }
  PyErr_Clear();
  Py_IncRef(&_Py_NoneStruct);
  return &_Py_NoneStruct;
}

// Called when all of the program's objects have gone. What the libraries of the modules that were there do at their
// end, nobody sees.
void exit_early(PyObject*) {
  if (!may_skip_cleanup) return;
  if (!has_no_new_modules) std::exit(exit_code);
  std::fflush(nullptr);
  _exit(exit_code);
}

void add_module(PyObject* name, PyObject* module) {
  ssize_t length = 0;
  const char* const text = PyUnicode_AsUTF8AndSize(name, &length);
  for (const char* special : {"__main__", "sys", "builtins"})  // the interpreter ends with these in a way of its own
    if (!text || std::strcmp(text, special) == 0) return PyErr_Clear();
  PyObject* const names = PyModule_GetDict(module);
  if (!names) return PyErr_Clear();
  Py_IncRef(name);
  Py_IncRef(module);
  loaded_modules.push_back({name, module, names_hash(names), std::strcmp(text, "threading") == 0});
}

PyObject* names_of(const char* name) {
  PyObject* const module = PyDict_GetItemString(modules, name);
  PyObject* const names = module ? PyModule_GetDict(module) : nullptr;
  if (!names) sys::fail("a module without names: " + std::string(name));
  return names;
}

// Nothing else refers to the function that finds modules in folders. It goes after all that a program may have arranged
// for its end, and right before the modules. What the interpreter keeps for extensions goes when the modules have gone.
bool register_callbacks() {
  static PyMethodDef method = {"take_modules_away", hide_modules, one_argument, nullptr};
  PyObject* const hooks = PySys_GetObject("path_hooks");
  const ssize_t count = hooks ? PyList_Size(hooks) : 0;
  PyObject* const last_hook = count > 0 ? PyList_GetItem(hooks, count - 1) : nullptr;
  PyObject* const interpreter_dict = PyInterpreterState_GetDict(PyInterpreterState_Get());
  PyObject* const exit_capsule = PyCapsule_New(interpreter_dict, nullptr, exit_early);
  if (!last_hook || !interpreter_dict || !exit_capsule ||
      PyDict_SetItemString(interpreter_dict, "leave", exit_capsule) != 0)
    return false;
  Py_DecRef(exit_capsule);
  return PyWeakref_NewRef(last_hook, PyCFunction_NewEx(&method, nullptr, nullptr));
}

}  // namespace

void prepare() {
  PyObject *name = nullptr, *module = nullptr;
  modules = PyImport_GetModuleDict();
  Py_IncRef(modules);
  for (ssize_t position = 0; PyDict_Next(modules, &position, &name, &module);) add_module(name, module);
  initial_module_count = PyDict_Size(modules);
  streams[0] = PySys_GetObject("stdout");
  streams[1] = PySys_GetObject("stderr");
  main_names = names_of("__main__"), sys_names = names_of("sys"), builtin_names = names_of("builtins");
  initial_sys_names = PyDict_New(), initial_builtin_names = PyDict_Copy(builtin_names);
  for (ssize_t position = 0; PyDict_Next(sys_names, &position, &name, &module);)
    PyDict_SetItem(initial_sys_names, name, &_Py_NoneStruct);
  if (!register_callbacks()) sys::fail("the interpreter's end cannot be prepared");
#ifdef __GLIBC__
  malloc_trim(0);  // what was freed is joined once, and not by each process anew
#endif
}

void watch_script() {
  for (LoadedModule& loaded : loaded_modules)
    if (loaded.changes_after_fork) loaded.names_hash = names_hash(PyModule_GetDict(loaded.module));
  if (_PyEval_EvalFrameDefault && _PyInterpreterState_SetEvalFrameFunc)
    _PyInterpreterState_SetEvalFrameFunc(PyInterpreterState_Get(), evaluate);
}

}  // namespace interpreter_exit
