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
# Folders of the host that programs see in every sandbox, as in graders/proctor/sandbox.cpp.
SYSTEM_FOLDERS = ("/usr", "/bin", "/lib", "/lib64")
IN_MEMORY = Path("/dev/shm")
# Maximum seconds until a compiler answers. A compiler on a busy disk must not count as missing.
_ASK_SECONDS = 120.0


def is_in_system_folder(path: Path) -> bool:
    """Return True if a path, without links, is in a system folder, which sandboxes see."""
    real_path = path.resolve()
    return any(real_path.is_relative_to(folder) for folder in SYSTEM_FOLDERS)


def find_command(name: str, folders: Iterable[str] = tuple(STAGE_PATH.split(":"))) -> Path | None:
    """Return the first program of a name that all users may start, preferably visible in sandboxes."""
    candidates = [path for folder in folders if is_executable_by_everyone(path := Path(folder) / name)]
    return next(filter(is_in_system_folder, candidates), candidates[0] if candidates else None)


def is_executable_by_everyone(path: Path) -> bool:
    try:
        real_path = path.resolve(strict=True)
        mode = real_path.stat().st_mode
    except (OSError, RuntimeError):  # a RuntimeError means that symbolic links form a loop
        return False
    return stat.S_ISREG(mode) and mode & 0o5 == 0o5 and is_enterable_by_everyone(real_path.parent)


def is_enterable_by_everyone(folder: Path) -> bool:
    """Return True if every user may enter a folder and all folders above it."""
    return all(ancestor.stat().st_mode & stat.S_IXOTH for ancestor in (folder, *folder.parents))


def run_and_read_output(command: list[str], *, inherits_environment: bool = False) -> str:
    """Return a command's stdout and stderr, or "" if the command cannot start. `g++ -v` prints to stderr.

    `inherits_environment`: True if the command gets the environment variables of this process.
    """
    try:
        process = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=_ASK_SECONDS,
            env=None if inherits_environment else {"PATH": STAGE_PATH, "LANG": "C.UTF-8"},
            cwd="/",
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return process.stdout.decode(errors="replace")


# --- compilers and interpreters ----------------------------------------------------------------------


_CHUNK = 1 << 20
# Names of the libraries that are linked into static programs, and so are part of a compiler's identity.
_LIBRARIES = ("libc.a", "libstdc++.a", "libm.a")


def find_toolchains(
    requested_python: str = "", promised_packages: Collection[str] = ()
) -> dict[str, Toolchain]:
    """Return the toolchains that sandboxes can use, by command. See `find_python` for the parameters."""
    special_finders: dict[str, Callable[[], Toolchain | None]] = {
        "g++": find_compiler,
        "gcc": partial(find_compiler, "gcc"),
        "python3": partial(find_python, requested_python, promised_packages),
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
            find_by_version_output,
            tool,
            *(language.version_arguments if tool == language.command else ("--version",)),
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


def find_compiler(name: str = "g++", *, additional_libraries: tuple[str, ...] = ()) -> Toolchain | None:
    """Find a compiler of GCC.

    The contents of the static libraries that are linked into programs are part of the toolchain's identity.
    `additional_libraries`: file names of static libraries besides the C and C++ libraries.
    """
    path = find_command(name)
    if path is None:
        return None
    version_output = run_and_read_output([str(path), "-v"])
    version = re.search(r"^gcc version (.*)$", version_output, re.MULTILINE)
    if version is None:
        return None  # another program has this name, or the command does not start
    library_paths = (
        run_and_read_output([str(path), f"-print-file-name={name}"]).strip()
        for name in (*_LIBRARIES, *additional_libraries)
    )
    real_path = path.resolve()
    digest = _digest_files(
        version_output, [real_path, *(Path(name) for name in library_paths if Path(name).is_absolute())]
    )
    target = _find_first_match(r"^Target: (\S+)", version_output)
    identity = f"{name} {version[1].strip()} {target} {real_path} {digest}"
    return Toolchain(
        command=name,
        path=str(path),
        version=_find_first_match(r"(\d+(?:\.\d+)+)", version[1]),
        identity=identity,
    )


def find_java() -> Toolchain | None:
    """Find a Java that can compile. Some installations can only run classes."""
    path = find_command("java")
    if path is None or not is_executable_by_everyone(path.resolve().with_name("javac")):
        return None
    return find_by_version_output("java", "-version", version_pattern=r'version "([^"]+)"')


def find_linking_compiler(
    name: str, *version_arguments: str, additional_libraries: tuple[str, ...] = ()
) -> Toolchain | None:
    """Find a compiler that uses the C compiler for linking.

    The toolchain's identity, which is part of cache keys, includes the identity of the C compiler.
    """
    toolchain, linker = (
        find_by_version_output(name, *version_arguments),
        find_compiler("gcc", additional_libraries=additional_libraries),
    )
    if toolchain is None or linker is None or find_command("cc") is None:
        return None
    return msgspec.structs.replace(toolchain, identity=f"{toolchain.identity} {linker.identity}")


def find_haskell() -> Toolchain | None:
    """Find GHC. Debian lists GHC's libraries in a folder outside of /usr, which builds may read."""
    toolchain, library_folder = (
        find_linking_compiler("ghc", "--version", additional_libraries=("libgmp.a",)),
        Path("/var/lib/ghc"),
    )
    readable_paths = (str(library_folder),) if library_folder.is_dir() else ()
    return None if toolchain is None else msgspec.structs.replace(toolchain, read=readable_paths)


def find_mono(name: str, *more_paths: str) -> Toolchain | None:
    """Find Mono. It reads its configuration outside of /usr, and its compiler reads /proc."""
    toolchain, config_paths = find_by_version_output(name, "--version"), ("/etc/mono/config", "/etc/mono/4.5")
    readable_paths = (
        *(config_path for config_path in config_paths if Path(config_path).exists()),
        *more_paths,
    )
    return None if toolchain is None else msgspec.structs.replace(toolchain, read=readable_paths)


def find_kotlin() -> Toolchain | None:
    """Find Kotlin by its archive's manifest, because its compiler needs seconds to print its version."""
    path = find_command("kotlinc")
    archive = path and path.resolve().parents[1] / "lib" / "kotlin-compiler.jar"
    if path is None or archive is None:
        return None
    try:
        with zipfile.ZipFile(archive) as archive_file:
            manifest = archive_file.read("META-INF/MANIFEST.MF").decode(errors="replace")
        archive_status = archive.stat()
    except (OSError, KeyError, zipfile.BadZipFile):
        return None
    version = _find_first_match(r"^Implementation-Version: (\S+)", manifest) or "unknown"
    identity = f"kotlinc {version} {path.resolve()} {archive_status.st_size} {archive_status.st_mtime_ns}"
    return Toolchain(command="kotlinc", path=str(path), version=version, identity=identity)


def find_by_version_output(
    name: str, *version_arguments: str, version_pattern: str = r"(\d+(?:\.\d+)+)"
) -> Toolchain | None:
    """Return the toolchain of a name, if it prints a version."""
    path = find_command(name)
    if path is None:
        return None
    version_output = run_and_read_output([str(path), *version_arguments])
    version = _find_first_match(version_pattern, version_output)
    if not version:
        return None  # another program has this name, or the command does not start
    identity = f"{name} {' '.join(version_output.split())} {path.resolve()}"
    return Toolchain(command=name, path=str(path), version=version, identity=identity)


def _digest_files(description: str, files: Iterable[Path]) -> str:
    digest = hashlib.sha256(description.encode())
    for path in files:
        with path.open("rb") as stream:
            while piece := stream.read(_CHUNK):
                digest.update(piece)
    return digest.hexdigest()[:16]


def _find_first_match(pattern: str, text: str) -> str:
    match = re.search(pattern, text, re.MULTILINE)
    return match[1] if match else ""


# --- Python: the interpreter for submissions, its modules, and the folders that sandboxes must see ----------


_log = logging.getLogger(__name__)
_NAME = re.compile(r"python3(?:\.\d+)?")
_VERSION = re.compile(r"\d+(?:\.\d+){0,2}")
_MAX_REASON_CHARS = 300  # maximum characters of an interpreter's error in a message
# Names of entries in an interpreter's prefix; submissions see no other entry of the prefix.
_PARTS = ("bin", "lib", "lib64", "pyvenv.cfg")
_COVERED = ("/box", "/job", "/proc", "/dev/fd")  # paths at which sandboxes have private folders
# Script that prints the version, paths and modules of the interpreter that runs it. The interpreter runs it
# with -I, so that the caller's environment and folder do not change the output.
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
# Known names of Python packages, in the spelling of their `dist-info` folders.
_KNOWN = ",".join(name.lower().replace("_", "-") for name in MODULES.values())


class Interpreter(Value):
    """A working Python interpreter. `why_not` is the reason why submissions cannot use it, if any."""

    path: str
    version: str
    prefix: str
    identity: str
    # Names of installed modules that programs often import, without Python's own modules.
    modules: tuple[str, ...]
    readable_paths: tuple[str, ...] = ()  # folders and links that programs need to start the interpreter
    why_not: str = ""

    @property
    def version_numbers(self) -> tuple[int, ...]:
        return tuple(int(component) for component in re.findall(r"\d+", self.version)[:3])

    def toolchain(self, command: str = "python3") -> Toolchain:
        return Toolchain(
            command=command,
            path=self.path,
            version=self.version,
            identity=f"{command} {self.identity}",
            read=self.readable_paths,
            modules=self.modules,
        )


def find_python(path_or_version: str = "", promised_packages: Collection[str] = ()) -> Toolchain | None:
    """Return the Python of a path or version, by default the newest Python of the system.

    CALLER is the Python that runs this process. The newest Python replaces it, with a warning, if programs
    cannot use the caller's or if only the newest has the `promised_packages`. Raises InputError if the wanted
    Python cannot be used. The result may still be unusable in a sandbox: see `check_python_in_sandbox`.
    """
    if path_or_version == CALLER:
        return _find_python_of_this_process(promised_packages)
    return choose_interpreter(path_or_version).toolchain() if path_or_version else _find_newest_python()


def _find_newest_python() -> Toolchain | None:
    """Return the newest Python of the system that everybody may start."""
    usable_interpreters = [
        interpreter
        for interpreter in _examine_interpreters(_list_system_pythons())
        if not interpreter.why_not
    ]
    return (
        max(usable_interpreters, key=lambda interpreter: interpreter.version_numbers).toolchain()
        if usable_interpreters
        else None
    )


def _find_python_of_this_process(promised_packages: Collection[str]) -> Toolchain | None:
    path = Path(sys.executable) if sys.executable else None
    callers_python = None if path is None else examine_interpreter(path)
    if path is None or callers_python is None:
        _warn_once(f"programs run with the system's newest Python: {path or 'this one'} does not answer")
        return _find_newest_python()
    toolchain = callers_python.toolchain()
    if callers_python.why_not:
        return _replace_with_newest_python(toolchain, callers_python.why_not)
    unisolated_python = examine_interpreter(path, isolated=False)
    if user_modules := set(unisolated_python.modules if unisolated_python is not None else ()).difference(
        callers_python.modules
    ):
        module_names = ", ".join(sorted(user_modules))
        reason = (
            f"{module_names} come from PYTHONPATH or from a user's own packages, which programs do not have"
        )
        return _replace_with_newest_python(toolchain, reason, user_modules)
    if missing_packages := set(promised_packages).difference(callers_python.modules):
        newest = _find_newest_python()
        if newest is not None and set(promised_packages) <= set(newest.modules or ()):
            module_names = ", ".join(sorted(missing_packages))
            _warn_once(
                f"programs run with {newest.path}: they may count on {module_names},"
                f" which {callers_python.path} does not have"
            )
            return newest
    return toolchain


def _replace_with_newest_python(
    python: Toolchain, reason: str, user_modules: Collection[str] = ()
) -> Toolchain:
    """Return the system's newest Python instead of `python`, if it has the modules that programs may expect.

    Otherwise return a toolchain that refuses all submissions in Python: a failed import would count as the
    submission's fault.

    Args:
        python: the interpreter to replace.
        reason: reason why programs cannot use `python`.
        user_modules: modules that `python` finds outside its installation, such as in PYTHONPATH.
    """
    newest = _find_newest_python()
    newest = None if newest is None or newest.path == python.path else newest
    expected_modules = {*(python.modules or ()), *user_modules}
    missing_modules = sorted(expected_modules.difference(newest.modules or () if newest is not None else ()))
    if newest is not None and not missing_modules:
        _warn_once(f"programs run with {newest.path} ({newest.version}) instead of {python.path}: {reason}")
        return newest
    problem = f"cannot import {', '.join(missing_modules)}" if missing_modules else "in Python cannot run"
    presence = ("is there", "has it", "has them")[min(len(missing_modules), 2)]
    refusal = f"submissions {problem}: {python.path} {presence}, but {reason}"
    return msgspec.structs.replace(newest or python, refusal=refusal)


def make_python_inspection_command(python: Toolchain) -> tuple[str, ...]:
    """Return the command that asks an interpreter for its version and modules."""
    return _make_inspection_command(python.path)


def check_python_in_sandbox(
    python: Toolchain, requested_python: str, inspection_output: str, error_output: str
) -> Toolchain:
    """Return the Python for submissions, from the output of `make_python_inspection_command` in a sandbox.

    Args:
        python: The Python that was inspected, as it is outside of sandboxes.
        requested_python: The option `python`: a path, a version, CALLER, or empty. If it is CALLER or empty
            and `python` is unusable, the result is the newest Python of the system. If this lacks modules,
            the result is a toolchain that refuses all submissions in Python.
        inspection_output: Standard output of the command.
        error_output: Error output of the command, or the reason why the sandbox did not start it.

    Raises:
        InputError: The Python of the requested path or version cannot run in a sandbox, or does not see all
            modules and files that it sees outside.
    """
    python_in_sandbox = _parse_inspection(Path(python.path), inspection_output)
    if (
        python_in_sandbox is not None
        and python_in_sandbox.toolchain(python.command).identity == python.identity
    ):
        return python
    if python_in_sandbox is None and (closed_folders := _list_folders_closed_to_others(python.read)):
        problem = f"it is in {', '.join(closed_folders)}, which submissions cannot read"
    elif python_in_sandbox is None:
        reason = (error_output.strip().splitlines() or ["it prints nothing"])[-1]
        problem = f"a sandbox cannot start it: {reason[:_MAX_REASON_CHARS]}"
    elif missing_modules := sorted({*(python.modules or ())} - {*python_in_sandbox.modules}):
        problem = (
            f"sandboxes cannot import {', '.join(missing_modules)}: other users may not read these files"
        )
    else:
        problem = "sandboxes see only a part of it: other users may not read all of its files"
    if requested_python and requested_python != CALLER:
        raise _make_unusable_python_error(python.path, problem)
    return _replace_with_newest_python(python, problem)


def _list_folders_closed_to_others(paths: Iterable[str]) -> list[str]:
    """Return the folders above some paths that other users may not enter.

    If this process is not root, programs run as the same user, and the list is empty.
    """
    if os.geteuid() != 0:
        return []
    parent_folders = dict.fromkeys(folder for path in paths for folder in reversed(Path(path).parents))
    return [str(folder) for folder in parent_folders if not folder.stat().st_mode & stat.S_IXOTH]


def _make_unusable_python_error(path: str, reason: str) -> InputError:
    return InputError(
        f"{path} cannot run submissions: {reason}",
        where="the Python interpreter for submissions",
        remedy=_ANOTHER,
    )


@cache  # cached, so that each message is logged only once
def _warn_once(message: str) -> None:
    _log.warning("%s. Choose another Python with python=PATH or %s", message, PYTHON)


def find_pypy() -> Toolchain | None:
    path = find_command("pypy3")
    interpreter = None if path is None else examine_interpreter(path)
    return None if interpreter is None or interpreter.why_not else interpreter.toolchain("pypy3")


def choose_interpreter(path_or_version: str) -> Interpreter:
    """Return the interpreter of a path or version. Raises InputError if it cannot run submissions."""
    if _VERSION.fullmatch(path_or_version):
        fitting_interpreters = [
            interpreter
            for interpreter in find_interpreters()
            if f"{interpreter.version}.".startswith(f"{path_or_version}.")
        ]
        chosen = next(
            (interpreter for interpreter in fitting_interpreters if not interpreter.why_not),
            fitting_interpreters[0] if fitting_interpreters else None,
        )
        missing_message = f"no interpreter of Python {path_or_version} was found"
    else:
        # Symbolic links are not resolved, because they lead to virtual environments.
        path = Path.cwd() / Path(path_or_version).expanduser()
        chosen = examine_interpreter(Path(os.path.normpath(path)))
        missing_message = (
            f"{path_or_version} is not a working Python"
            if path.exists()
            else f"{path_or_version} does not exist"
        )
    if chosen is None:
        raise InputError(missing_message, where="the Python interpreter for submissions", remedy=_ANOTHER)
    if chosen.why_not:
        raise _make_unusable_python_error(chosen.path, chosen.why_not)
    return chosen


def find_interpreters(folders: Iterable[str] = ()) -> list[Interpreter]:
    """Return the Pythons of the system, of further folders, and the Python that runs this process."""
    return _examine_interpreters([*_list_system_pythons(), *_find_pythons(folders), Path(sys.executable)])


def _list_system_pythons() -> list[Path]:
    return [path for path in _find_pythons(STAGE_PATH.split(":")) if is_executable_by_everyone(path)]


def _find_pythons(folders: Iterable[str]) -> Iterator[Path]:
    for folder in map(Path, folders):
        try:
            yield from sorted(path for path in folder.iterdir() if _NAME.fullmatch(path.name))
        except OSError:
            continue


def _examine_interpreters(paths: Iterable[Path]) -> list[Interpreter]:
    """Return each interpreter once. A virtual environment and its base are two interpreters."""
    unique_paths = {
        (os.path.realpath(path), _find_virtual_environment(path)): path for path in reversed([*paths])
    }
    with ThreadPoolExecutor(8) as threads:
        interpreters = [
            interpreter
            for interpreter in threads.map(examine_interpreter, reversed(unique_paths.values()))
            if interpreter is not None
        ]
    return [
        *{
            (interpreter.prefix, interpreter.version): interpreter for interpreter in reversed(interpreters)
        }.values()
    ][::-1]


def _find_virtual_environment(path: Path) -> Path | None:
    folder = path.parent.parent
    return folder if (folder / "pyvenv.cfg").exists() else None


def examine_interpreter(path: Path, *, isolated: bool = True) -> Interpreter | None:
    """Return an interpreter, or `None` if the program does not answer as Python does.

    `isolated`: True if environment variables and the user's own packages are ignored, as for programs.
    """
    if isolated:
        return _parse_inspection(path, run_and_read_output([*_make_inspection_command(str(path))]))
    return _parse_inspection(
        path,
        run_and_read_output(
            [*_make_inspection_command(str(path), isolated=False)], inherits_environment=True
        ),
    )


def _make_inspection_command(path: str, *, isolated: bool = True) -> tuple[str, ...]:
    return (path, *(["-I"] if isolated else []), "-c", _QUESTION, _KNOWN, *MODULES)


def _parse_inspection(path: Path, inspection_output: str) -> Interpreter | None:
    output_lines = inspection_output.splitlines()
    if len(output_lines) != 7 or not re.fullmatch(r"\d+\.\S+ \w+", output_lines[0]):
        return None
    version, implementation = output_lines[0].split()
    build_info, executable, prefix, base_prefix = output_lines[1:5]
    # Use the path that the interpreter reports, because a script may start another interpreter than its name
    # suggests.
    path = path if os.path.realpath(path) == os.path.realpath(executable) else Path(executable)
    readable_paths = _list_readable_paths(path, (prefix, base_prefix))
    return Interpreter(
        path=str(path),
        version=version,
        prefix=prefix,
        identity=" ".join(
            [
                build_info,
                os.path.realpath(path),
                *([prefix] if readable_paths else []),
                *_format_packages(*output_lines[5:]),
            ]
        ),
        modules=tuple(output_lines[5].split()),
        readable_paths=readable_paths,
        why_not=_explain_unusable_interpreter(implementation, readable_paths),
    )


def _format_packages(module_names: str, package_versions: str) -> tuple[str, ...]:
    """Return the part of an interpreter's identity that describes its modules and package versions."""
    return (f"({module_names})", *([f"[{package_versions}]"] if package_versions else []))


def _list_readable_paths(path: Path, prefixes: Iterable[str]) -> tuple[str, ...]:
    """Return the folders and links outside of system folders that programs need to start an interpreter.

    `path`: the path of the interpreter. `prefixes`: the folders of its installation, as in `sys.prefix`.
    """
    link_chain = [path]
    while link_chain[-1].is_symlink() and len(link_chain) < 40:
        link_chain.append(Path(os.path.normpath(link_chain[-1].parent / link_chain[-1].readlink())))
    roots = dict.fromkeys([*map(Path, prefixes), link_chain[-1].resolve().parent.parent])
    library_paths = [root / folder_path for root in roots for folder_path in _PARTS]
    folders_outside_system = [
        folder_path
        for folder_path in library_paths
        if folder_path.exists() and not any(folder_path.is_relative_to(folder) for folder in SYSTEM_FOLDERS)
    ]
    visible_paths = (*folders_outside_system, *map(Path, SYSTEM_FOLDERS))
    links = [
        link
        for link in link_chain
        if not any(link.is_relative_to(visible_path) for visible_path in visible_paths)
    ]
    return tuple(dict.fromkeys(str(visible_path) for visible_path in (*folders_outside_system, *links)))


def _explain_unusable_interpreter(implementation: str, readable_paths: Iterable[str]) -> str:
    if implementation not in ("cpython", "pypy"):
        return f"{implementation} is neither CPython nor PyPy"
    home_folders = _list_home_folders()
    for read_path in (Path(name) for name in readable_paths):
        if read_path.name in _PARTS and read_path.parent in home_folders:
            return f"its folder {read_path.parent} is a home, and would be shown to submissions"
        if any(
            read_path.is_relative_to(folder) or read_path.resolve().is_relative_to(folder)
            for folder in _COVERED
        ):
            return f"{read_path} cannot be shown to a sandbox, which has a private folder at this path"
    return ""


def _list_home_folders() -> frozenset[Path]:
    """Return the home folders of users, and the folders above."""
    home_paths = [
        entry.pw_dir for entry in getpwall() if entry.pw_uid in (0, os.geteuid()) or entry.pw_uid >= 1000
    ]
    home_folders = {Path(home_folder) for home_folder in home_paths if home_folder.startswith("/")}
    with contextlib.suppress(RuntimeError):  # raised for a user without a name and without HOME
        home_folders.add(Path.home())
    home_folders -= {Path("/nonexistent"), Path("/")}
    return frozenset(
        {
            Path("/"),
            *home_folders,
            *(parent for home_folder in home_folders for parent in home_folder.parents),
        }
    )
