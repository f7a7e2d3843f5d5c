"""The Pythons of this machine: which one runs submissions, what it brings, and what of it a box must see."""

from __future__ import annotations

import contextlib
import logging
import os
import re
import sys
from collections.abc import Collection, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from pwd import getpwall

from ioi_eval.engines.embedded.commands import (
    STAGE_PATH,
    SYSTEM_FOLDERS,
    ask,
    everybody_may_enter,
    everybody_may_start,
    find_command,
)
from ioi_eval.engines.environment import CALLER, PYTHON
from ioi_eval.model.errors import InputError
from ioi_eval.model.job import Toolchain
from ioi_eval.model.languages import MODULES
from ioi_eval.model.values import Value

_log = logging.getLogger(__name__)
_NAME = re.compile(r"python3(?:\.\d+)?")
_VERSION = re.compile(r"\d+(?:\.\d+){0,2}")
_PARTS = ("bin", "lib", "lib64", "pyvenv.cfg")  # of a prefix: what lies beside them is nobody's business
_COVERED = ("/tmp", "/box", "/job", "/proc", "/dev/fd")  # a box has its own there
# -I: neither the environment nor the folder of the caller changes what it answers.
_QUESTION = """
import importlib.util, sys
print(sys.version.split()[0].rstrip("+"), sys.implementation.name)
print(sys.version.replace("\\n", " "))
print(sys.executable, sys.prefix, sys.base_prefix, sep="\\n")
print(*(name for name in sys.argv[1:] if importlib.util.find_spec(name)))
"""


class Interpreter(Value):
    """A Python that answers. `why_not` says why submissions cannot have it; empty where they can."""

    path: str
    version: str
    prefix: str
    identity: str
    modules: tuple[str, ...]  # of those that programs often import and that do not come with Python
    read: tuple[str, ...] = ()  # what a box must be shown of it
    why_not: str = ""

    @property
    def number(self) -> tuple[int, ...]:
        return tuple(int(part) for part in re.findall(r"\d+", self.version)[:3])

    def toolchain(self, command: str = "python3") -> Toolchain:
        return Toolchain(
            command=command,
            path=self.path,
            version=self.version,
            identity=f"{command} {self.identity}",
            read=self.read,
            modules=self.modules,
        )


def find_python(wanted: str = "", promised: Collection[str] = ()) -> Toolchain | None:
    """Return the one that is wanted, by its path or its version; else the newest that everybody may start.

    CALLER: the one that runs us; the newest, with a warning, where submissions cannot have that. It also
    stands in for a newest one that lacks packages which are promised to programs, with a warning, if it has
    them. Raises InputError where the wanted one cannot be used.
    """
    if wanted == CALLER:
        own = examine(Path(sys.executable)) if sys.executable else None
        if own is not None and not own.why_not:
            return own.toolchain()
        newest = find_python()
        _warn(_instead(own, newest))
        return newest
    if wanted:
        return choose(wanted).toolchain()
    good = [found for found in _asked(_of_the_system()) if not found.why_not]
    best = max(good, key=lambda found: found.number) if good else None
    if lacking := set(promised).difference(best.modules if best is not None else ()):
        own = examine(Path(sys.executable)) if sys.executable else None
        if own is not None and not own.why_not and own.modules and set(promised) <= set(own.modules):
            other = "this machine has no other Python" if best is None else f"{best.path} lacks them"
            _warn(
                f"submissions run with the Python that runs this ({own.path}, {own.version}): they may"
                f" count on {', '.join(sorted(lacking))}, and {other}. python=PATH or {PYTHON} names another"
            )
            return own.toolchain()
    return None if best is None else best.toolchain()


@cache  # once for each text
def _warn(text: str) -> None:
    _log.warning(text)


def _instead(own: Interpreter | None, newest: Toolchain | None) -> str:
    """Tell why submissions do not run with the caller's Python, and how the one in its place differs."""
    why = f"{sys.executable or 'it'} does not say where it is" if own is None else own.why_not
    text = f"submissions cannot have the Python that runs this ({sys.executable}): {why}. "
    if newest is None:
        return f"{text}This machine has no other one that everybody may start"
    there, here = set(newest.modules or ()), set(() if own is None else own.modules)
    differences = [
        f"{word} {', '.join(sorted(names))}"
        for word, names in (("lacks", here - there), ("has besides", there - here))
        if names
    ]
    reason = " and ".join(differences) or "has the same packages of those that programs often import"
    return (
        f"{text}They run with {newest.path} ({newest.version}), which {reason}."
        f" python=PATH or {PYTHON} names another"
    )


def find_pypy() -> Toolchain | None:
    path = find_command("pypy3")
    found = None if path is None else examine(path)
    return None if found is None or found.why_not else found.toolchain("pypy3")


def choose(wanted: str) -> Interpreter:
    """Raises InputError where nothing of that path or version can run submissions."""
    if _VERSION.fullmatch(wanted):
        fitting = [found for found in interpreters() if f"{found.version}.".startswith(f"{wanted}.")]
        found = next(
            (interpreter for interpreter in fitting if not interpreter.why_not),
            fitting[0] if fitting else None,
        )
        missing = f"no Python {wanted} was found"
    else:
        path = Path.cwd() / Path(wanted).expanduser()  # a link stays one: environments are found by it
        found = examine(Path(os.path.normpath(path)))
        missing = f"{wanted} is no Python that answers" if path.exists() else f"there is no {wanted}"
    if found is None or found.why_not:
        problem = missing if found is None else f"{found.path} cannot run submissions: {found.why_not}"
        remedy = (
            "Give the path of an interpreter, or a version, as python=PATH or in IOI_EVAL_PYTHON;"
            " `ioi-eval doctor` lists those of this machine"
        )
        raise InputError(problem, where="the Python for submissions", remedy=remedy)
    return found


def interpreters(folders: Iterable[str] = ()) -> list[Interpreter]:
    """The system's, those in further folders, and the one that runs us."""
    return _asked([*_of_the_system(), *_pythons_in(folders), Path(sys.executable)])


def _of_the_system() -> list[Path]:
    return [path for path in _pythons_in(STAGE_PATH.split(":")) if everybody_may_start(path)]


def _pythons_in(folders: Iterable[str]) -> Iterator[Path]:
    for folder in map(Path, folders):
        try:
            yield from sorted(path for path in folder.iterdir() if _NAME.fullmatch(path.name))
        except OSError:
            continue


def _asked(paths: Iterable[Path]) -> list[Interpreter]:
    """Return each interpreter once. A virtual environment is another one than the one it was made of."""
    places = {(os.path.realpath(path), _environment_of(path)): path for path in reversed([*paths])}
    with ThreadPoolExecutor(8) as threads:
        answers = [found for found in threads.map(examine, reversed(places.values())) if found is not None]
    return [*{(found.prefix, found.version): found for found in reversed(answers)}.values()][::-1]


def _environment_of(path: Path) -> Path | None:
    folder = path.parent.parent
    return folder if (folder / "pyvenv.cfg").exists() else None


def examine(path: Path) -> Interpreter | None:
    """Return an interpreter; None for what does not answer as a Python does."""
    lines = ask([str(path), "-I", "-c", _QUESTION, *MODULES]).splitlines()
    if len(lines) != 6 or not re.fullmatch(r"\d+\.\S+ \w+", lines[0]):
        return None
    (version, kind), words, (executable, prefix, base) = lines[0].split(), lines[1], lines[2:5]
    # A script in between starts another one than its own name says.
    path = path if os.path.realpath(path) == os.path.realpath(executable) else Path(executable)
    read = _to_read(path, (prefix, base))
    return Interpreter(
        path=str(path),
        version=version,
        prefix=prefix,
        identity=" ".join([words, os.path.realpath(path), *([prefix] if read else []), f"({lines[5]})"]),
        modules=tuple(lines[5].split()),
        read=read,
        why_not=_why_not(path, kind, read),
    )


def _to_read(path: Path, prefixes: Iterable[str]) -> tuple[str, ...]:
    """Return the folders of its prefixes that programs need, without the system's, and links to them."""
    hops = [path]
    while hops[-1].is_symlink() and len(hops) < 40:
        hops.append(Path(os.path.normpath(hops[-1].parent / hops[-1].readlink())))
    roots = dict.fromkeys([*map(Path, prefixes), hops[-1].resolve().parent.parent])
    parts = [root / part for root in roots for part in _PARTS]
    shown = [
        part
        for part in parts
        if part.exists() and not any(part.is_relative_to(folder) for folder in SYSTEM_FOLDERS)
    ]
    seen = (*shown, *map(Path, SYSTEM_FOLDERS))
    links = [hop for hop in hops if not any(hop.is_relative_to(place) for place in seen)]
    return tuple(dict.fromkeys(str(place) for place in (*shown, *links)))


def _why_not(path: Path, kind: str, read: Iterable[str]) -> str:
    if kind not in ("cpython", "pypy"):
        return f"{kind} is neither CPython nor PyPy"
    homes = _homes()
    for place in (Path(name) for name in read):
        if place.name in _PARTS and place.parent in homes:
            return f"its folder {place.parent} is a home, and would be shown to submissions"
        if any(place.is_relative_to(folder) or place.resolve().is_relative_to(folder) for folder in _COVERED):
            return f"{place} cannot be shown to a box, which has a folder of its own there: keep it elsewhere"
        if os.geteuid() == 0 and not everybody_may_enter(place.parent):
            return (
                f"started as root, programs run as another user, who may not enter {place.parent}: keep it in"
                " a folder that everybody may enter, such as /opt"
            )
    return "" if os.geteuid() != 0 or everybody_may_start(path) else f"not everybody may start {path}"


def _homes() -> frozenset[Path]:
    """The folders of users, and all above them."""
    named = [
        entry.pw_dir for entry in getpwall() if entry.pw_uid in (0, os.geteuid()) or entry.pw_uid >= 1000
    ]
    homes = {Path(home) for home in named if home.startswith("/")}
    with contextlib.suppress(RuntimeError):  # a user without a name and without HOME
        homes.add(Path.home())
    homes -= {Path("/nonexistent"), Path("/")}
    return frozenset({Path("/"), *homes, *(above for home in homes for above in home.parents)})
