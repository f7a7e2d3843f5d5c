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

struct Kept {
  PyObject *name, *module;
  uint64_t content;
  bool changes;  // in a forked process, before a program runs there
};

std::vector<Kept> kept;
PyObject* modules;  // held: when it is asked for too late, the interpreter gives up
PyObject *of_system, *of_builtins;  // what these two modules hold
PyObject *known_of_system, *known_of_builtins;  // and held before a program ran; of the first one the names only
PyObject* streams[2];
PyObject* script_names;      // of the main module
bool code_known, may_leave;  // without the rest of the interpreter's end, which nothing of a program sees
bool loaded_nothing;         // no module but those that were there
ssize_t modules_there;
int code;

bool is_ending() { return Py_IsFinalizing ? Py_IsFinalizing() : _Py_IsFinalizing && _Py_IsFinalizing(); }

// --- how the script ended ----------------------------------------------------------------------------

// What the interpreter will make of it. Left unknown where that takes a text, or somebody's own class.
void note_exit() {
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  if (type == PyExc_SystemExit) {
    PyObject* const own = value ? PyObject_Type(value) : nullptr;
    PyObject* const said = own == type ? PyObject_GetAttrString(value, "code") : value;
    code = said && said != &_Py_NoneStruct ? static_cast<int>(PyLong_AsLong(said)) : 0;
    code_known = !PyErr_Occurred();
    if (own == type && said) Py_DecRef(said);
    if (own) Py_DecRef(own);
  }
  PyErr_Restore(type, value, trace);
}

// The names of the main module are among the first fields of its frame, in every version.
bool is_script(const void* frame) {
  constexpr size_t fields = 10;
  PyObject* const* const first = static_cast<PyObject* const*>(frame);
  for (size_t i = 0; i < fields; ++i)
    if (first[i] == script_names) return true;
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
    code_known = true;
  else
    note_exit();
  return result;
}

// --- the end -----------------------------------------------------------------------------------------

// Changes when a name is added, removed or given another value. It only reads: nothing is copied by it.
uint64_t content_of(PyObject* names) {
  PyObject *name = nullptr, *value = nullptr;
  uint64_t content = 1;
  for (ssize_t at = 0; PyDict_Next(names, &at, &name, &value);)
    for (const PyObject* const part : {name, value})
      content = (content ^ reinterpret_cast<uintptr_t>(part)) * 0x9e3779b97f4a7c15 + (content >> 29);
  return content;
}

// One that cannot be written out makes another exit code; so may one that the program has put into its place.
bool is_written(const char* name, PyObject* stream) {
  if (!stream || PySys_GetObject(name) != stream) return false;
  PyObject* const type = PyObject_Type(stream);
  PyObject* const flush = PyObject_GetAttrString(type, "flush");
  PyObject* const done = flush ? PyObject_CallFunctionObjArgs(flush, stream, nullptr) : nullptr;
  for (PyObject* const one : {type, flush, done})
    if (one) Py_DecRef(one);
  PyErr_Clear();
  return done;
}

// By now the end has emptied some names, and some that were not there.
bool has_only(PyObject* names, PyObject* known) {
  PyObject *name = nullptr, *value = nullptr;
  for (ssize_t at = 0; PyDict_Next(names, &at, &name, &value);) {
    const PyObject* const before = PyDict_GetItemWithError(known, name);
    if (value != &_Py_NoneStruct && before != value && before != &_Py_NoneStruct) return false;
  }
  return true;
}

// What a program has put into a module may have something to say when it goes, and then may or may not find the others.
bool are_untouched() {
  for (const Kept& each : kept)
    if (PyDict_GetItemWithError(modules, each.name) != each.module ||
        content_of(PyModule_GetDict(each.module)) != each.content) return false;
  return has_only(of_system, known_of_system) && has_only(of_builtins, known_of_builtins);
}

// The interpreter takes apart what it finds among the modules.
PyObject* take_modules_away(PyObject*, PyObject*) {
  if (is_ending() && are_untouched()) {
    loaded_nothing = PyDict_Size(modules) == modules_there;
    may_leave = code_known && is_written("stdout", streams[0]) && is_written("stderr", streams[1]);
    for (const Kept& each : kept) PyDict_SetItem(modules, each.name, &_Py_NoneStruct);
  }
  PyErr_Clear();
  Py_IncRef(&_Py_NoneStruct);
  return &_Py_NoneStruct;
}

// Called when all of the program's objects have gone. What the libraries of the modules that were there do at their
// end, nobody sees.
void leave(PyObject*) {
  if (!may_leave) return;
  if (!loaded_nothing) std::exit(code);
  std::fflush(nullptr);
  _exit(code);
}

void keep(PyObject* name, PyObject* module) {
  ssize_t length = 0;
  const char* const text = PyUnicode_AsUTF8AndSize(name, &length);
  for (const char* own : {"__main__", "sys", "builtins"})  // the interpreter ends with these in a way of its own
    if (!text || std::strcmp(text, own) == 0) return PyErr_Clear();
  PyObject* const names = PyModule_GetDict(module);
  if (!names) return PyErr_Clear();
  Py_IncRef(name);
  Py_IncRef(module);
  kept.push_back({name, module, content_of(names), std::strcmp(text, "threading") == 0});
}

PyObject* names_of(const char* name) {
  PyObject* const module = PyDict_GetItemString(modules, name);
  PyObject* const names = module ? PyModule_GetDict(module) : nullptr;
  if (!names) sys::fail("a module without names: " + std::string(name));
  return names;
}

// Nothing else refers to the function that finds modules in folders. It goes after all that a program may have arranged
// for its end, and right before the modules. What the interpreter keeps for extensions goes when the modules have gone.
bool arrange_calls() {
  static PyMethodDef method = {"take_modules_away", take_modules_away, one_argument, nullptr};
  PyObject* const hooks = PySys_GetObject("path_hooks");
  const ssize_t count = hooks ? PyList_Size(hooks) : 0;
  PyObject* const last = count > 0 ? PyList_GetItem(hooks, count - 1) : nullptr;
  PyObject* const own = PyInterpreterState_GetDict(PyInterpreterState_Get());
  PyObject* const last_of_all = PyCapsule_New(own, nullptr, leave);
  if (!last || !own || !last_of_all || PyDict_SetItemString(own, "leave", last_of_all) != 0) return false;
  Py_DecRef(last_of_all);
  return PyWeakref_NewRef(last, PyCFunction_NewEx(&method, nullptr, nullptr));
}

}  // namespace

void prepare() {
  PyObject *name = nullptr, *module = nullptr;
  modules = PyImport_GetModuleDict();
  Py_IncRef(modules);
  for (ssize_t at = 0; PyDict_Next(modules, &at, &name, &module);) keep(name, module);
  modules_there = PyDict_Size(modules);
  streams[0] = PySys_GetObject("stdout");
  streams[1] = PySys_GetObject("stderr");
  script_names = names_of("__main__"), of_system = names_of("sys"), of_builtins = names_of("builtins");
  known_of_system = PyDict_New(), known_of_builtins = PyDict_Copy(of_builtins);
  for (ssize_t at = 0; PyDict_Next(of_system, &at, &name, &module);)
    PyDict_SetItem(known_of_system, name, &_Py_NoneStruct);
  if (!arrange_calls()) sys::fail("the interpreter's end cannot be prepared");
#ifdef __GLIBC__
  malloc_trim(0);  // what was freed is joined once, and not by each process anew
#endif
}

void watch_script() {
  for (Kept& each : kept)
    if (each.changes) each.content = content_of(PyModule_GetDict(each.module));
  if (_PyEval_EvalFrameDefault && _PyInterpreterState_SetEvalFrameFunc)
    _PyInterpreterState_SetEvalFrameFunc(PyInterpreterState_Get(), evaluate);
}

}  // namespace interpreter_exit
