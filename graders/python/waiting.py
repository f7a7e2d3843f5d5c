# Names of variables that a main module has before its code runs.
_FRESH = tuple(name for name in globals() if name not in ("__file__", "__cached__"))


def _make_main_module(create_module):
    """Return a new module `__main__`, with the variables that a main module has before its code runs."""
    main_module = create_module("__main__")
    main_module.__dict__.update((name, globals()[name]) for name in _FRESH)
    main_module.__doc__ = None
    return main_module


def _wait_for_requests():
    """Import the modules that the proctor names, and run the fork server, which is a C++ extension module.

    All other state of the interpreter stays as after its start. The proctor sends only names of modules from
    a fixed list. Descriptor 3 is the socket to the proctor, and descriptor 4 is the extension module.
    """
    import _imp
    import os
    import sys
    from _frozen_importlib import ModuleSpec
    from _frozen_importlib_external import FileFinder, _get_supported_file_loaders

    if not (3, 9) <= sys.version_info < (3, 16) or sys.implementation.name != "cpython":
        raise NotImplementedError("the fork server needs CPython 3.9 to 3.15")
    for name in os.read(3, 1 << 16).decode().split():
        try:
            __import__(name)
        except ImportError:  # the program itself will get the same error
            continue
    loaded_modules = set(sys.modules)
    import gc

    # The module random reseeds itself after a fork; numpy.random does not. Likewise, threading keeps the old
    # thread id.
    if "numpy.random" in sys.modules:
        os.register_at_fork(after_in_child=sys.modules["numpy.random"].seed)
    if "threading" in sys.modules:
        main_thread = sys.modules["threading"].main_thread()
        os.register_at_fork(after_in_child=main_thread._set_native_id)
    # Forget how this path was imported, because the next script at the same path may be an archive.
    sys.path_importer_cache.pop(os.path.abspath(sys.argv[0]), None)
    # Use a new list, which is destroyed together with the modules. The interpreter keeps the original list
    # alive.
    sys.path_hooks = [*sys.path_hooks[:-1], FileFinder.path_hook(*_get_supported_file_loaders())]
    for name in set(sys.modules) - loaded_modules:
        del sys.modules[name]
    gc.collect()
    gc.freeze()
    # Create the main module after gc.freeze: it refers to the program, and frozen objects are never
    # collected.
    sys.modules["__main__"] = _make_main_module(type(sys))
    _imp.create_dynamic(ModuleSpec("waiting", None, origin="/proc/self/fd/4"))


try:
    _wait_for_requests()
except BaseException as error:
    import os

    os.write(3, f"{type(error).__name__}: {error}".encode(errors="replace")[:500])
    os._exit(1)
