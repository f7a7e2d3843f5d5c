"""Values that a shell completes: benchmarks and paths, engines, comparisons, languages and other names.

Values from a fixed list, such as those of `--mode`, are completed by Typer itself.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable
from pathlib import Path

from typer.models import ArgumentInfo, OptionInfo

Completer = Callable[[str], list[str]]


def add_completions(function: Callable[..., None]) -> None:
    """Set the completion of those options and arguments of a command that have one here."""
    signature = inspect.signature(function, eval_str=True)
    function.__signature__ = signature  # type: ignore[attr-defined]  # or Typer evaluates strings again
    for name, parameter in signature.parameters.items():
        for info in getattr(parameter.annotation, "__metadata__", ()):
            if isinstance(info, ArgumentInfo):
                info.autocompletion = _ARGUMENTS.get(str(info.metavar))
            elif isinstance(info, OptionInfo) and info.metavar != "DIR":  # the shell completes folders
                # In an annotation, Typer takes the first name for the default.
                names = [info.default, *(info.param_decls or ())]
                flags = [name for name in names if isinstance(name, str) and name.startswith("--")]
                info.autocompletion = _OPTIONS.get([*flags, f"--{name.replace('_', '-')}"][0])


def _sources(incomplete: str) -> list[str]:
    """Complete a source of problems: a benchmark's name or a path."""
    from ioi_eval.benchmarks import benchmarks

    names = sorted(benchmark.name for benchmark in benchmarks())
    return [*_starting_with(incomplete, names), *_paths(incomplete)]


def _engines(incomplete: str) -> list[str]:
    """Complete an engine, which may be a file with addresses: `@FILE`."""
    from ioi_eval.engines.piston.discovery import KUBERNETES, SLURM
    from ioi_eval.engines.registry import EMBEDDED, RAY
    from ioi_eval.registries import Registry, registered_names

    if incomplete.startswith("@"):
        return [f"@{path}" for path in _paths(incomplete[1:])]
    names = dict.fromkeys((EMBEDDED, RAY, f"{RAY}://", SLURM, KUBERNETES, "@", "http://", "https://"))
    names.update(dict.fromkeys(registered_names(Registry.ENGINES)))
    return _starting_with(incomplete, names)


def _comparisons(incomplete: str) -> list[str]:
    from ioi_eval.model.values import CheckerKind

    return _starting_with(incomplete, (kind.value for kind in CheckerKind if not kind.is_program))


def _languages(incomplete: str) -> list[str]:
    from ioi_eval.model.languages import LANGUAGES

    return _starting_with(incomplete, (language.name for language in LANGUAGES))


def _packages(incomplete: str) -> list[str]:
    from ioi_eval.model.languages import MODULES

    return _in_list(incomplete, ("none", *sorted(MODULES)))


def _columns(incomplete: str) -> list[str]:
    from ioi_eval.cli.options import COLUMN_NAMES

    return _in_list(incomplete, (f"{name}=" for name in COLUMN_NAMES))


def _repairs(incomplete: str) -> list[str]:
    from ioi_eval.cli.options import REPAIR_NAMES

    return _in_list(incomplete, REPAIR_NAMES)


def _interpreters(incomplete: str) -> list[str]:
    from ioi_eval.engines.environment import CALLER

    return [*_starting_with(incomplete, (CALLER,)), *_paths(incomplete)]


def _starting_with(incomplete: str, names: Iterable[str]) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]


def _in_list(incomplete: str, names: Iterable[str]) -> list[str]:
    """Complete the last name of a list with commas."""
    before, comma, last = incomplete.rpartition(",")
    return [before + comma + name for name in _starting_with(last, names)]


def _paths(incomplete: str) -> list[str]:
    """Return the files and folders that a path can continue to; folders end with a slash.

    A folder that is the only match is followed by its content, so that the shell adds no space to it.
    """
    folder, start = os.path.split(incomplete)
    try:
        entries = sorted(Path(folder).expanduser().iterdir() if folder else Path().iterdir())
    except OSError:
        return []
    matches = [
        incomplete[: len(incomplete) - len(start)] + entry.name + ("/" if entry.is_dir() else "")
        for entry in entries
        if entry.name.startswith(start) and (start or not entry.name.startswith("."))
    ]
    if len(matches) == 1 and matches[0].endswith("/"):
        return _paths(matches[0]) or matches
    return matches


_ARGUMENTS: dict[str, Completer] = {"SOURCE": _sources, "SOLUTIONS": _sources}
_OPTIONS: dict[str, Completer] = {
    "--allow-language": _languages,
    "--checker": _comparisons,
    "--columns": _columns,
    "--engine": _engines,
    "--language": _languages,
    "--packages": _packages,
    "--problems": _sources,
    "--python": _interpreters,
    "--repair": _repairs,
}
