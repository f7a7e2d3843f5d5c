"""A benchmark in a file of somebody's own: `problems="my_benchmark.py"`, without an installation."""

from __future__ import annotations

import hashlib
import importlib.util
import inspect
import sys
import traceback
from pathlib import Path
from types import ModuleType

from ioi_eval.benchmarks.benchmark import Benchmark
from ioi_eval.model.errors import InputError

SUFFIX = ".py"
# What a file with a mistake raises while it is loaded.
_FAULTS = (SyntaxError, ImportError, AttributeError, NameError, TypeError, ValueError, LookupError, OSError)


def benchmark_in(path: Path) -> Benchmark:
    """The one benchmark that is defined in a file, which is run. InputError: it cannot be, or has none."""
    content = path.read_bytes()
    # A name that changes with the file: what was made of its rows by other code is not found again.
    name = f"ioi_eval_benchmark_{hashlib.sha256(content).hexdigest()[:16]}"
    module = sys.modules.get(name) or _loaded(name, path)
    found = [one for one in vars(module).values() if _is_benchmark(one, name)]
    if len(found) != 1:
        remedy = "Define one class derived from ioi_eval.benchmarks.Benchmark"
        raise InputError(f"{len(found) or 'no'} benchmarks in it", where=str(path), remedy=remedy)
    made: Benchmark = found[0]()
    return made


def _is_benchmark(found: object, module: str) -> bool:
    if not isinstance(found, type) or not issubclass(found, Benchmark) or found.__module__ != module:
        return False
    return not inspect.isabstract(found)


def _loaded(name: str, path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None, "a file that ends in .py"
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except _FAULTS as error:
        del sys.modules[name]
        raise _broken(path, error) from error
    return module


def _broken(path: Path, error: Exception) -> InputError:
    lines = [
        frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)
    ]
    row = error.lineno if isinstance(error, SyntaxError) else lines[-1] if lines else None
    return InputError(
        f"cannot be loaded ({type(error).__name__}: {error})",
        where=str(path),
        row=row,
        remedy="Mend the file",
    )
