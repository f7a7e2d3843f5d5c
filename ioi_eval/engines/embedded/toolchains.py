"""The compilers and interpreters of this machine that sandboxes can use.

The languages' table lists the commands of each language. This module identifies toolchains for which a single
question is not enough. Only the system's folders are visible in a sandbox. So a toolchain is searched on the
path of stages, and it must be readable for all users.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import re
import stat
import subprocess
import sys
import zipfile
from collections.abc import Callable, Collection, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from pathlib import Path
from pwd import getpwall

import msgspec

from ioi_eval.engines.environment import CALLER, PYTHON
from ioi_eval.model.errors import InputError
from ioi_eval.model.job import Toolchain
from ioi_eval.model.languages import LANGUAGES, MODULES
from ioi_eval.model.values import Value

STAGE_PATH = "/usr/local/bin:/usr/bin:/bin"
# Folders of the host that all sandboxes show, as in graders/proctor/sandbox.cpp.
SYSTEM_FOLDERS = ("/usr", "/bin", "/lib", "/lib64")
IN_MEMORY = Path("/dev/shm")
# Maximum seconds until a compiler answers. A compiler on a busy disk must not count as missing.
_ASK_SECONDS = 120.0


def is_in_system_folder(path: Path) -> bool:
    """Return True if a path, without links, is in a system folder, which sandboxes see."""
    real = path.resolve()
    return any(real.is_relative_to(folder) for folder in SYSTEM_FOLDERS)


def find_command(name: str, folders: Iterable[str] = tuple(STAGE_PATH.split(":"))) -> Path | None:
    """Return the first program of a name that all users may start, preferably visible in sandboxes."""
    candidates = [path for folder in folders if is_startable_by_all(path := Path(folder) / name)]
    return next(filter(is_in_system_folder, candidates), candidates[0] if candidates else None)


def is_startable_by_all(path: Path) -> bool:
    try:
        real = path.resolve(strict=True)
        mode = real.stat().st_mode
    except (OSError, RuntimeError):  # a RuntimeError means that symbolic links form a loop
        return False
    return stat.S_ISREG(mode) and mode & 0o5 == 0o5 and is_enterable_by_all(real.parent)


def is_enterable_by_all(folder: Path) -> bool:
    """Return True if every user can read the files of a folder."""
    return all(ancestor.stat().st_mode & stat.S_IXOTH for ancestor in (folder, *folder.parents))


def run_and_read_output(command: list[str], *, inherits: bool = False) -> str:
    """Return a command's output on both streams, or nothing if it cannot start. `g++ -v` prints to stderr.

    `inherits`: the command has the environment of this process.
    """
    try:
        process = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=_ASK_SECONDS,
            env=None if inherits else {"PATH": STAGE_PATH, "LANG": "C.UTF-8"},
            cwd="/",
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return process.stdout.decode(errors="replace")


# --- compilers and interpreters ----------------------------------------------------------------------


_CHUNK = 1 << 20
# Names of libraries that are linked into static programs, so that they are a part of a compiler's identity.
_LIBRARIES = ("libc.a", "libstdc++.a", "libm.a")


def toolchains(python: str = "", promised: Collection[str] = ()) -> dict[str, Toolchain]:
    """Return the toolchains that sandboxes can use, by command. See `find_python` for the parameters."""
    special_finders: dict[str, Callable[[], Toolchain | None]] = {
        "g++": find_compiler,
        "gcc": partial(find_compiler, "gcc"),
        "python3": partial(find_python, python, promised),
        "pypy3": find_pypy,
        "java": find_java,
        "rustc": partial(find_linking_compiler, "rustc", "-vV"),
        "ghc": find_haskell,
        "kotlinc": find_kotlin,
        "mcs": partial(find_mono, "mcs", "/proc"),
        "mono": partial(find_mono, "mono"),
    }
    version_finders = {
        tool: partial(
            find_by_version_output, tool, *(language.tells if tool == language.command else ("--version",))
        )
        for language in LANGUAGES
        for tool in language.tools
    }
    finders = (version_finders | special_finders).values()
    with ThreadPoolExecutor(len(finders)) as threads:
        results = threads.map(lambda find: find(), finders)
        return {
            tool.command: tool
            for tool in results
            if tool is not None and (bool(tool.read) or is_in_system_folder(Path(tool.path)))
        }


def find_compiler(name: str = "g++", *, beside: tuple[str, ...] = ()) -> Toolchain | None:
    """Find a compiler. `beside` names additional libraries that are linked into programs."""
    path = find_command(name)
    if path is None:
        return None
    version_output = run_and_read_output([str(path), "-v"])
    version = re.search(r"^gcc version (.*)$", version_output, re.MULTILINE)
    if version is None:
        return None  # another program has this name, or the command does not start
    library_paths = (
        run_and_read_output([str(path), f"-print-file-name={name}"]).strip()
        for name in (*_LIBRARIES, *beside)
    )
    real = path.resolve()
    digest = _digest_files(
        version_output, [real, *(Path(name) for name in library_paths if Path(name).is_absolute())]
    )
    target = _first_match(r"^Target: (\S+)", version_output)
    identity = f"{name} {version[1].strip()} {target} {real} {digest}"
    return Toolchain(
        command=name, path=str(path), version=_first_match(r"(\d+(?:\.\d+)+)", version[1]), identity=identity
    )


def find_java() -> Toolchain | None:
    """Find a Java that can compile. Some installations can only run classes."""
    path = find_command("java")
    if path is None or not is_startable_by_all(path.resolve().with_name("javac")):
        return None
    return find_by_version_output("java", "-version", version=r'version "([^"]+)"')


def find_linking_compiler(name: str, *question: str, beside: tuple[str, ...] = ()) -> Toolchain | None:
    """Find a compiler that links by the C compiler, which is part of its identity."""
    toolchain, linker = find_by_version_output(name, *question), find_compiler("gcc", beside=beside)
    if toolchain is None or linker is None or find_command("cc") is None:
        return None
    return msgspec.structs.replace(toolchain, identity=f"{toolchain.identity} {linker.identity}")


def find_haskell() -> Toolchain | None:
    """Find GHC. Debian has the list of its libraries outside of /usr, so builds may read that folder."""
    toolchain, library_folder = (
        find_linking_compiler("ghc", "--version", beside=("libgmp.a",)),
        Path("/var/lib/ghc"),
    )
    shown = (str(library_folder),) if library_folder.is_dir() else ()
    return None if toolchain is None else msgspec.structs.replace(toolchain, read=shown)


def find_mono(name: str, *more: str) -> Toolchain | None:
    """Find Mono. Its configuration is outside of /usr, and its compiler reads its memory map."""
    toolchain, config_paths = find_by_version_output(name, "--version"), ("/etc/mono/config", "/etc/mono/4.5")
    shown = (*(config_path for config_path in config_paths if Path(config_path).exists()), *more)
    return None if toolchain is None else msgspec.structs.replace(toolchain, read=shown)


def find_kotlin() -> Toolchain | None:
    """Find Kotlin by its archive's manifest, because its compiler needs seconds to print its version."""
    path = find_command("kotlinc")
    archive = path and path.resolve().parents[1] / "lib" / "kotlin-compiler.jar"
    if path is None or archive is None:
        return None
    try:
        with zipfile.ZipFile(archive) as packed:
            manifest = packed.read("META-INF/MANIFEST.MF").decode(errors="replace")
        state = archive.stat()
    except (OSError, KeyError, zipfile.BadZipFile):
        return None
    version = _first_match(r"^Implementation-Version: (\S+)", manifest) or "unknown"
    identity = f"kotlinc {version} {path.resolve()} {state.st_size} {state.st_mtime_ns}"
    return Toolchain(command="kotlinc", path=str(path), version=version, identity=identity)


def find_by_version_output(name: str, *question: str, version: str = r"(\d+(?:\.\d+)+)") -> Toolchain | None:
    """Return the toolchain of a name, if it prints a version."""
    path = find_command(name)
    if path is None:
        return None
    version_output = run_and_read_output([str(path), *question])
    number = _first_match(version, version_output)
    if not number:
        return None  # another program has this name, or the command does not start
    identity = f"{name} {' '.join(version_output.split())} {path.resolve()}"
    return Toolchain(command=name, path=str(path), version=number, identity=identity)


def _digest_files(words: str, files: Iterable[Path]) -> str:
    digest = hashlib.sha256(words.encode())
    for path in files:
        with path.open("rb") as stream:
            while piece := stream.read(_CHUNK):
                digest.update(piece)
    return digest.hexdigest()[:16]


def _first_match(pattern: str, text: str) -> str:
    match = re.search(pattern, text, re.MULTILINE)
    return match[1] if match else ""


# --- Python: the interpreter for submissions, its modules, and the folders that sandboxes must see ----------


_log = logging.getLogger(__name__)
_NAME = re.compile(r"python3(?:\.\d+)?")
_VERSION = re.compile(r"\d+(?:\.\d+){0,2}")
_MAX_REASON_CHARS = 300  # maximum characters of an interpreter's error in a message
# Names of entries in an interpreter's prefix; submissions see no other entry of the prefix.
_PARTS = ("bin", "lib", "lib64", "pyvenv.cfg")
_COVERED = ("/box", "/job", "/proc", "/dev/fd")  # paths at which sandboxes show other folders than the host
# A script that an interpreter runs with -I, as it runs programs, so that the caller's environment and folder
# do not change the answer.
_QUESTION = """
import importlib.util, os, sys
print(sys.version.split()[0].rstrip("+"), sys.implementation.name)
print(sys.version.replace("\\n", " "))
print(sys.executable, sys.prefix, sys.base_prefix, sep="\\n")
specs = [(name, importlib.util.find_spec(name)) for name in sys.argv[2:]]
print(*(name for name, spec in specs if spec and (not spec.origin or os.access(spec.origin, os.R_OK))))
listed = (next(os.walk(place), ("", [], [])) for place in sys.path)  # empty for an unreadable folder
names = (name for _, folders, files in listed for name in folders + files)
notes = (name.rpartition(".") for name in names if name.endswith(("dist-info", "egg-info")))
known = sys.argv[1].split(",")
print(*sorted({note for note, _, _ in notes if note.partition("-")[0].lower().replace("_", "-") in known}))
"""
_ANOTHER = (
    "Give the path of an interpreter, or a version, as python=PATH or in IOI_EVAL_PYTHON;"
    " `ioi-eval doctor` lists the interpreters of this machine"
)
# Known names of packages, as in the names of folders with a package's version.
_KNOWN = ",".join(name.lower().replace("_", "-") for name in MODULES.values())


class Interpreter(Value):
    """A Python that starts. `why_not` is the reason why submissions cannot use it, if any."""

    path: str
    version: str
    prefix: str
    identity: str
    # Names of installed modules that programs often import, without Python's own modules.
    modules: tuple[str, ...]
    read: tuple[str, ...] = ()  # folders of the interpreter that sandboxes must show
    why_not: str = ""

    @property
    def number(self) -> tuple[int, ...]:
        return tuple(int(component) for component in re.findall(r"\d+", self.version)[:3])

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
    """Return the Python of a path or version, by default the newest Python of the system.

    CALLER is the Python that runs this process. The newest Python replaces it, with a warning, if programs
    cannot use the caller's or if only the newest has the `promised` packages. Raises InputError if the wanted
    Python cannot be used. The result may still be unusable in a sandbox: see `check_in_sandbox`.
    """
    if wanted == CALLER:
        return _find_callers_python(promised)
    return choose_interpreter(wanted).toolchain() if wanted else _find_newest_python()


def _find_newest_python() -> Toolchain | None:
    """Return the newest Python of the system that everybody may start."""
    good = [interpreter for interpreter in _examine_all(_list_system_pythons()) if not interpreter.why_not]
    return max(good, key=lambda found: found.number).toolchain() if good else None


def _find_callers_python(promised: Collection[str]) -> Toolchain | None:
    path = Path(sys.executable) if sys.executable else None
    own_python = None if path is None else examine_interpreter(path)
    if path is None or own_python is None:
        _warn_once(f"programs run with the system's newest Python: {path or 'this one'} does not answer")
        return _find_newest_python()
    chosen = own_python.toolchain()
    if own_python.why_not:
        return _replace_python(chosen, own_python.why_not)
    imported = examine_interpreter(path, isolated=False)
    if beyond := set(imported.modules if imported is not None else ()).difference(own_python.modules):
        names = ", ".join(sorted(beyond))
        reason = f"{names} come from PYTHONPATH or from a user's own packages, which programs do not have"
        return _replace_python(chosen, reason, beyond)
    if lacking := set(promised).difference(own_python.modules):
        newest = _find_newest_python()
        if newest is not None and set(promised) <= set(newest.modules or ()):
            names = ", ".join(sorted(lacking))
            _warn_once(
                f"programs run with {newest.path}: they may count on {names},"
                f" which {own_python.path} does not have"
            )
            return newest
    return chosen


def _replace_python(python: Toolchain, why: str, beyond: Collection[str] = ()) -> Toolchain:
    """Return the newest Python of the system if it has the modules that programs may expect.

    Otherwise the toolchain judges no submission: a failed import would count as the submission's fault.
    `why`: the reason why programs cannot use `python`. `beyond`: its packages from outside its installation.
    """
    newest = _find_newest_python()
    newest = None if newest is None or newest.path == python.path else newest
    packages = {*(python.modules or ()), *beyond}
    lacking = sorted(packages.difference(newest.modules or () if newest is not None else ()))
    if newest is not None and not lacking:
        _warn_once(f"programs run with {newest.path} ({newest.version}) instead of {python.path}: {why}")
        return newest
    problem = f"cannot import {', '.join(lacking)}" if lacking else "in Python cannot run"
    has = ("is there", "has it", "has them")[min(len(lacking), 2)]
    refusal = f"submissions {problem}: {python.path} {has}, but {why}"
    return msgspec.structs.replace(newest or python, refusal=refusal)


def description_command(python: Toolchain) -> tuple[str, ...]:
    """Return the command that asks an interpreter for its version and modules."""
    return _make_inspection_command(python.path)


def check_in_sandbox(python: Toolchain, wanted: str, answer: str, error: str) -> Toolchain:
    """Return the Python for submissions, from the output and errors of `description_command` it in a sandbox.

    Raises InputError if the wanted Python cannot run there or lacks packages that it has outside.
    """
    inside = _read_answer(Path(python.path), answer)
    if inside is not None and inside.toolchain(python.command).identity == python.identity:
        return python
    if inside is None and (closed := _list_closed_folders(python.read)):
        problem = f"it is in {', '.join(closed)}, which submissions cannot read"
    elif inside is None:
        reason = (error.strip().splitlines() or ["it prints nothing"])[-1]
        problem = f"a sandbox cannot start it: {reason[:_MAX_REASON_CHARS]}"
    elif lacking := sorted({*(python.modules or ())} - {*inside.modules}):
        problem = f"sandboxes cannot import {', '.join(lacking)}: other users may not read these files"
    else:
        problem = "sandboxes see only a part of it: other users may not read all of its files"
    if wanted and wanted != CALLER:
        raise _unusable_python_error(python.path, problem)
    return _replace_python(python, problem)


def _list_closed_folders(places: Iterable[str]) -> list[str]:
    """Return the folders above some files that programs of root, which run as other users, may not enter."""
    if os.geteuid() != 0:
        return []
    above = dict.fromkeys(folder for path in places for folder in reversed(Path(path).parents))
    return [str(folder) for folder in above if not folder.stat().st_mode & stat.S_IXOTH]


def _unusable_python_error(path: str, why: str) -> InputError:
    return InputError(
        f"{path} cannot run submissions: {why}",
        where="the Python interpreter for submissions",
        remedy=_ANOTHER,
    )


@cache  # cached, so that each message is logged only once
def _warn_once(text: str) -> None:
    _log.warning("%s. Choose another Python with python=PATH or %s", text, PYTHON)


def find_pypy() -> Toolchain | None:
    path = find_command("pypy3")
    interpreter = None if path is None else examine_interpreter(path)
    return None if interpreter is None or interpreter.why_not else interpreter.toolchain("pypy3")


def choose_interpreter(wanted: str) -> Interpreter:
    """Raise InputError if no Python of this path or version can run submissions."""
    if _VERSION.fullmatch(wanted):
        fitting = [chosen for chosen in find_interpreters() if f"{chosen.version}.".startswith(f"{wanted}.")]
        chosen = next(
            (interpreter for interpreter in fitting if not interpreter.why_not),
            fitting[0] if fitting else None,
        )
        missing = f"no interpreter of Python {wanted} was found"
    else:
        # Symbolic links are not resolved, because they lead to virtual environments.
        path = Path.cwd() / Path(wanted).expanduser()
        chosen = examine_interpreter(Path(os.path.normpath(path)))
        missing = f"{wanted} is not a working Python" if path.exists() else f"{wanted} does not exist"
    if chosen is None:
        raise InputError(missing, where="the Python for submissions", remedy=_ANOTHER)
    if chosen.why_not:
        raise _unusable_python_error(chosen.path, chosen.why_not)
    return chosen


def find_interpreters(folders: Iterable[str] = ()) -> list[Interpreter]:
    """Return the Pythons of the system, of further folders, and the Python that runs this process."""
    return _examine_all([*_list_system_pythons(), *_find_pythons(folders), Path(sys.executable)])


def _list_system_pythons() -> list[Path]:
    return [path for path in _find_pythons(STAGE_PATH.split(":")) if is_startable_by_all(path)]


def _find_pythons(folders: Iterable[str]) -> Iterator[Path]:
    for folder in map(Path, folders):
        try:
            yield from sorted(path for path in folder.iterdir() if _NAME.fullmatch(path.name))
        except OSError:
            continue


def _examine_all(paths: Iterable[Path]) -> list[Interpreter]:
    """Return each interpreter once. A virtual environment and its base are two interpreters."""
    unique_paths = {
        (os.path.realpath(path), _find_virtual_environment(path)): path for path in reversed([*paths])
    }
    with ThreadPoolExecutor(8) as threads:
        answers = [
            interpreter
            for interpreter in threads.map(examine_interpreter, reversed(unique_paths.values()))
            if interpreter is not None
        ]
    return [
        *{
            (interpreter.prefix, interpreter.version): interpreter for interpreter in reversed(answers)
        }.values()
    ][::-1]


def _find_virtual_environment(path: Path) -> Path | None:
    folder = path.parent.parent
    return folder if (folder / "pyvenv.cfg").exists() else None


def examine_interpreter(path: Path, *, isolated: bool = True) -> Interpreter | None:
    """Return an interpreter, or `None` if the program does not answer as Python does.

    `isolated`: as programs run, without additions by environment variables and a user's home.
    """
    if isolated:
        return _read_answer(path, run_and_read_output([*_make_inspection_command(str(path))]))
    return _read_answer(
        path, run_and_read_output([*_make_inspection_command(str(path), isolated=False)], inherits=True)
    )


def _make_inspection_command(path: str, *, isolated: bool = True) -> tuple[str, ...]:
    return (path, *(["-I"] if isolated else []), "-c", _QUESTION, _KNOWN, *MODULES)


def _read_answer(path: Path, answer: str) -> Interpreter | None:
    lines = answer.splitlines()
    if len(lines) != 7 or not re.fullmatch(r"\d+\.\S+ \w+", lines[0]):
        return None
    (version, kind), build_info, (executable, prefix, base) = lines[0].split(), lines[1], lines[2:5]
    # Use the path that the interpreter reports, because a script may start another interpreter than its name
    # suggests.
    path = path if os.path.realpath(path) == os.path.realpath(executable) else Path(executable)
    readable_paths = _list_readable_paths(path, (prefix, base))
    return Interpreter(
        path=str(path),
        version=version,
        prefix=prefix,
        identity=" ".join(
            [
                build_info,
                os.path.realpath(path),
                *([prefix] if readable_paths else []),
                *_format_packages(*lines[5:]),
            ]
        ),
        modules=tuple(lines[5].split()),
        read=readable_paths,
        why_not=_explain_unusable(kind, readable_paths),
    )


def _format_packages(modules: str, versions: str) -> tuple[str, ...]:
    """Return the part of an identity that describes packages. Not all of them have a version."""
    return (f"({modules})", *([f"[{versions}]"] if versions else []))


def _list_readable_paths(path: Path, prefixes: Iterable[str]) -> tuple[str, ...]:
    """Return the folders of prefixes that programs need, and links to them, without system folders."""
    hops = [path]
    while hops[-1].is_symlink() and len(hops) < 40:
        hops.append(Path(os.path.normpath(hops[-1].parent / hops[-1].readlink())))
    roots = dict.fromkeys([*map(Path, prefixes), hops[-1].resolve().parent.parent])
    library_paths = [root / folder_path for root in roots for folder_path in _PARTS]
    shown = [
        folder_path
        for folder_path in library_paths
        if folder_path.exists() and not any(folder_path.is_relative_to(folder) for folder in SYSTEM_FOLDERS)
    ]
    visible_paths = (*shown, *map(Path, SYSTEM_FOLDERS))
    links = [
        hop for hop in hops if not any(hop.is_relative_to(visible_path) for visible_path in visible_paths)
    ]
    return tuple(dict.fromkeys(str(visible_path) for visible_path in (*shown, *links)))


def _explain_unusable(kind: str, read: Iterable[str]) -> str:
    if kind not in ("cpython", "pypy"):
        return f"{kind} is neither CPython nor PyPy"
    homes = _list_home_folders()
    for read_path in (Path(name) for name in read):
        if read_path.name in _PARTS and read_path.parent in homes:
            return f"its folder {read_path.parent} is a home, and would be shown to submissions"
        if any(
            read_path.is_relative_to(folder) or read_path.resolve().is_relative_to(folder)
            for folder in _COVERED
        ):
            return f"{read_path} cannot be shown to a sandbox, which has a private folder at this path"
    return ""


def _list_home_folders() -> frozenset[Path]:
    """Return the home folders of users, and the folders above."""
    home_names = [
        entry.pw_dir for entry in getpwall() if entry.pw_uid in (0, os.geteuid()) or entry.pw_uid >= 1000
    ]
    homes = {Path(home) for home in home_names if home.startswith("/")}
    with contextlib.suppress(RuntimeError):  # raised for a user without a name and without HOME
        homes.add(Path.home())
    homes -= {Path("/nonexistent"), Path("/")}
    return frozenset({Path("/"), *homes, *(above for home in homes for above in home.parents)})
