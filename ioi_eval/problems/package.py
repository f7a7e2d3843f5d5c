"""Shared by all package formats: the base of a format, the outcome of reading, files, sources, tests."""

from __future__ import annotations

import errno
import json
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, ClassVar, NamedTuple

import yaml

from ioi_eval.model.errors import InputError
from ioi_eval.model.fields import Faults, Fields, distinct, near, nearest, parse_json, shown
from ioi_eval.model.languages import of_suffix
from ioi_eval.model.values import (
    Blob,
    Checker,
    CheckerKind,
    Limits,
    Manager,
    NamedBlob,
    Problem,
    Solution,
    TaskType,
    Test,
    Value,
)

ARCHIVES = frozenset({".zip", ".kpp"})


class Package(Value):
    """A package as it was read. `problem` is None when anything is wrong with it."""

    where: str
    format: str = ""
    problem: Problem | None = None
    errors: tuple[InputError, ...] = ()
    notes: tuple[str, ...] = ()  # what was left out or understood in one of several ways


class Executable(NamedTuple):
    """A program of a package."""

    sources: tuple[NamedBlob, ...]  # the first is the one that is compiled
    language: str
    linked: bool = False  # with all sources that lie beside the first one

    def as_checker(self, kind: CheckerKind, **more: Any) -> Checker:
        return Checker(kind=kind, sources=self.sources, language=self.language, **more)

    def as_manager(self, kind: CheckerKind, **more: Any) -> Manager:
        return Manager(kind=kind, sources=self.sources, language=self.language, **more)


class GeneratedTest(NamedTuple):
    """A test: files by their places in the package. Without a command the input lies in the package."""

    input: str
    answer: str
    command: tuple[str, ...]  # the generator's name, and its arguments
    copied: str = ""  # the file that is the input, where there is no command; empty: it lies at its place
    subtask: tuple[str, ...] = ()  # what validators are told of it, behind the input's name if they get it


class Making(NamedTuple):
    """The way in which a package's tests are made."""

    tests: tuple[GeneratedTest, ...]
    generators: Mapping[str, Executable]
    solution: Executable | None  # None: generators write answers on standard error
    validators: tuple[Executable, ...] = ()
    read: str = ""  # the file that the solution reads; empty: standard input
    written: str = ""  # the file that it writes; empty: standard output
    interactor: Executable | None = None  # talks to the solution; what it writes into `written` is the answer
    named: bool = False  # validators get the input's name as an argument; else they read it


MIB = 1 << 20
_MOST_MEMORY = 1 << 40  # bytes; above it, or below 1 MiB, a number is meant in another unit
_MOST_TIME = 500.0  # seconds; from there on a number is meant in milliseconds


class PackageFormat(ABC):
    """A format of packages: how one is recognised, what it is called, how it is read."""

    name: ClassVar[str]
    header: ClassVar[str]  # the file that every package has
    rank: ClassVar[int]  # position among all formats: of those that fit a folder, the lowest one reads it

    def looks_like_package(self, folder: Path) -> bool:
        return (folder / self.header).is_file()

    @abstractmethod
    def package_id(self, folder: Path, where: str) -> str | None:
        """Return the problem's id, or None where the header is not sound enough to say it."""

    def read_package(self, folder: Path, where: str) -> Package:
        """Return the package with its problem, or with all that is wrong with it."""
        faults, problem = Faults(where), None
        try:
            problem = self.read(folder, where, faults)
        except OSError as error:
            name = os.path.relpath(error.filename, folder) if error.filename else ""
            faults.add(f"cannot be read ({error.strerror or error})", name)
        if faults.errors:
            return Package(where=where, format=self.name, errors=tuple(faults.errors))
        return Package(where=where, format=self.name, problem=problem, notes=tuple(faults.notes))

    @abstractmethod
    def read(self, folder: Path, where: str, faults: Faults) -> Problem | None:
        """Return the problem; where there is a fault, anything or None."""

    def making(self, folder: Path, faults: Faults) -> Making | None:
        """Return how the package's tests are made; where there is a fault, anything or None."""
        faults.add(f"packages of {self.name} do not say how their tests are made", "")
        return None


_OF_SOLUTIONS = frozenset({"solution", "solutions", "submissions"})  # folders on which no score depends


class DeclaredFormat(PackageFormat):
    """A format whose header is a mapping in JSON or YAML."""

    id_field: ClassVar[str] = ""  # of the header; empty: packages are called as their folders or archives are
    memory_unit: ClassVar[int] = MIB  # bytes, of `memory_limit`
    memory_unit_name: ClassVar[str] = "MiB"
    folders: ClassVar[tuple[str, ...]] = ()  # of the format, which would be lost by other names

    def package_id(self, folder: Path, where: str) -> str | None:
        if not self.id_field:
            return named_by_place(folder, where)
        found = (self.mapping(folder, Faults("")) or {}).get(self.id_field)
        return found if isinstance(found, str) else None

    def read(self, folder: Path, where: str, faults: Faults) -> Problem | None:
        values = self.mapping(folder, faults)
        for path in visible(folder.glob("*/")):
            usual = path.name.lower()
            if path.name in self.folders or usual not in self.folders:
                continue
            if usual in _OF_SOLUTIONS or any(visible((folder / usual).glob("*"))):
                faults.note(f"passed over by this name: the format has {usual}", path.name)
            else:
                faults.add("it counts nowhere by this name", path.name, remedy=f"Call it {usual}")
        if values is None:
            return None
        return self.problem(folder, where, Fields(values, self.header, faults), faults)

    def mapping(self, folder: Path, faults: Faults) -> Mapping[str, Any] | None:
        return read_mapping(folder, self.header, faults)

    @abstractmethod
    def problem(self, folder: Path, where: str, header: Fields, faults: Faults) -> Problem: ...

    def limits(self, header: Fields, task: TaskType) -> Limits:
        """Return the limits in `time_limit`, in seconds, and `memory_limit`, in this format's unit."""
        if task is TaskType.OUTPUT_ONLY:  # no program runs
            return Limits()
        memory = self.memory(header, "memory_limit")
        return Limits.contest(time_limit(header), memory)

    def memory(self, fields: Fields, name: str, usual: int | None = None) -> int:
        """Return a size of memory in bytes, with a fault where it must be meant in another unit."""
        memory, unit = fields.whole(name, usual, least=1), self.memory_unit_name
        if self.memory_unit > 1 and memory * self.memory_unit > _MOST_MEMORY:
            fields.fault(
                name, f"{memory} {unit} is more than any machine has", f"It counts {unit}, not bytes"
            )
        elif 0 < memory * self.memory_unit < MIB:
            fields.fault(name, f"{memory} {unit} is too little for any program", f"It counts {unit}, not MB")
        return memory * self.memory_unit

    def checked_id(self, folder: Path, where: str, header: Fields, faults: Faults) -> str:
        """Return the problem's id, with a fault where it cannot be one."""
        field = self.id_field
        name = header.text(field) if field else named_by_place(folder, where)
        if is_plain(name) or (field and not name):
            return name
        if field:
            header.fault(
                field, f"{name!r} is not an id", "Use letters, digits, '_', '-' and '.': it names files"
            )
        else:
            remedy = "Name the package with letters, digits, '_', '-', '.'"
            faults.add(f"{name!r} is not an id", "", remedy=remedy)
        return name


def time_limit(fields: Fields, name: str = "time_limit") -> float:
    """Return a limit in seconds, with a fault where it must be meant in another unit."""
    seconds = fields.number(name, above=0)
    if seconds >= _MOST_TIME:
        words = f"{seconds:g} seconds is more than any contest gives"
        fields.fault(name, words, "It counts seconds, not milliseconds")
    return seconds


def named_by_place(folder: Path, where: str) -> str:
    """Return the name of a package's folder, or of the archive that has its files at the top."""
    place = Path(where)
    return place.stem if place.suffix.lower() in ARCHIVES else folder.name or folder.resolve().name


_MISSPELT = 0.8  # alike: `infile` for `inputfile`, but no `score_mode` for `score_type`


def refuse_misspelt(fields: Fields, known: Collection[str]) -> None:
    """Refuse a key that would count nowhere, and that looks like one that is known and missing."""
    missing = [key for key in known if not fields.has(key)]
    for key in map(str, fields.values):
        if key not in known and near(key, missing, _MISSPELT):
            fields.fault(key, "there is no such key", nearest(key, missing))


def is_plain(name: str) -> bool:
    """Return True for a name that is a file's on any system, and no path: ids must be so."""
    return re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]*", name) is not None


def leads_inside(name: str) -> bool:
    """Return True for a relative path that does not lead out of its folder."""
    path = PurePosixPath(name)
    return bool(path.parts) and not path.is_absolute() and ".." not in path.parts


# --- files -------------------------------------------------------------------------------------------


def files_below(folder: Path, part: str) -> tuple[NamedBlob, ...]:
    """Return all files below one folder of the package, by name, hidden ones left out."""
    return named(folder, [name for name in names_below(folder, part) if _there(folder / name).is_file()])


def names_below(folder: Path, part: str) -> list[str]:
    """Return the names of all that lies below one folder of the package, without what is hidden."""
    found = (path.relative_to(folder) for path in (folder / part).rglob("*"))
    return sorted(name.as_posix() for name in found if not any(word.startswith(".") for word in name.parts))


def named(folder: Path, names: Iterable[str]) -> tuple[NamedBlob, ...]:
    return tuple(NamedBlob(name=name, content=Blob.of_file(folder / name)) for name in names)


def first_named(files: Iterable[NamedBlob], stems: Iterable[str]) -> NamedBlob | None:
    """Return the first source in a known language whose name without its ending is one of these."""
    by_stem = {
        PurePosixPath(file.name).with_suffix("").as_posix(): file
        for file in files
        if of_suffix(PurePosixPath(file.name).suffix)
    }
    return next((by_stem[stem] for stem in stems if stem in by_stem), None)


def led_by(first: NamedBlob, files: Iterable[NamedBlob]) -> tuple[NamedBlob, ...]:
    """Return the files with the one that is compiled in front."""
    return (first, *(file for file in files if file.name != first.name))


def read_mapping(
    folder: Path, file: str, faults: Faults, fill: Callable[[bytes], bytes] = bytes
) -> dict[str, Any] | None:
    """Return the object in a file of JSON or YAML, or None after a fault. `fill` changes the text before.

    A key that occurs twice is a note if that changes no score, and a fault otherwise.
    """
    repeated = list[str]()
    remedy = "Correct it in the file"
    is_json = file.endswith(".json")
    try:
        text = fill((folder / file).read_bytes()).decode("utf-8-sig")
        value = _parsed_json(text, repeated) if is_json else _parsed(text, repeated)
    except FileNotFoundError:
        faults.add("missing file", file, remedy="Add it; is this the package's folder?")
    except UnicodeDecodeError as error:
        row = error.object.count(b"\n", 0, error.start) + 1
        faults.add("not UTF-8", file, row=row, remedy="Save it as UTF-8")
    except json.JSONDecodeError as error:
        faults.add(f"broken JSON: {error.msg}", file, row=error.lineno, remedy=remedy)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else None
        faults.add(f"broken YAML: {error.problem}", file, row=line, remedy=remedy)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        words = " ".join(str(error).split())
        faults.add(f"broken {'JSON' if is_json else 'YAML'}: {words}", file, remedy=remedy)
    else:
        for key in repeated:
            faults.note(f"the key {shown(key)} occurs twice; the last value holds", file)
        if isinstance(value, dict):
            return value
        kind, form = (
            ("a JSON object", "fields in braces") if is_json else ("a YAML mapping", "lines `key: value`")
        )
        faults.add(f"{shown(value)} is not {kind}", file, remedy=f"Expected {form}")
    return None


def _without_blanks(value: dict[Any, Any]) -> dict[str, Any]:
    """Return a mapping without the keys that have no value: YAML writes an absent one so."""
    return {
        str(key): _without_blanks(inner) if isinstance(inner, dict) else inner
        for key, inner in value.items()
        if inner is not None
    }


# Keys of a header that no score depends on, nor on what is in their objects.
_DESCRIPTIVE_KEYS = frozenset(
    {
        *("author", "authors", "comment", "contributors", "credits", "description", "embargo_until"),
        *("keywords", "license", "rights_owner", "source", "title", "url", "uuid"),
    }
)


def _parsed_json(text: str, repeated: list[str]) -> Any:
    """Return the value of a JSON text. Keys that occur again and change no score are added to `repeated`."""
    objects = list[tuple[dict[str, Any], list[tuple[str, Any]]]]()

    def keep(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        values = dict(pairs)
        if len(values) < len(pairs):
            objects.append((values, pairs))
        return values

    root = parse_json(text, keep)
    inside = [root.get(key) for key in _DESCRIPTIVE_KEYS] if isinstance(root, dict) else []
    describing = {id(one) for one in _mappings(inside)}
    for values, pairs in objects:
        seen = dict[str, Any]()
        for key, value in pairs:
            if key in seen:
                is_descriptive = id(values) in describing or (values is root and key in _DESCRIPTIVE_KEYS)
                if not is_descriptive and seen[key] != value:
                    distinct(pairs)  # raises `Twice`
                repeated.append(key)
            seen[key] = value
    return root


def _mappings(value: Any) -> Iterator[dict[str, Any]]:
    """Yield the objects in a value of JSON, at any depth."""
    if isinstance(value, dict):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _mappings(inner)


class _Loader(yaml.SafeLoader):  # type: ignore[misc]  # it has no types
    """Reads a mapping. A key that occurs twice is refused, or added to `repeated` if it changes no score."""

    def __init__(self, text: str, repeated: list[str]) -> None:
        super().__init__(text)
        self._repeated, self._root, self._describing = repeated, None, frozenset[int]()

    def get_single_node(self) -> Any:
        self._root = root = super().get_single_node()
        pairs = root.value if isinstance(root, yaml.MappingNode) else []
        scalars = [pair for pair in pairs if isinstance(pair[0], yaml.ScalarNode)]
        inside = [value for key, value in scalars if key.value in _DESCRIPTIVE_KEYS]
        self._describing = frozenset(id(node) for value in inside for node in _nodes(value))
        return root

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        values = dict[str, yaml.Node]()
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                continue
            if key.value in values:
                is_descriptive = id(node) in self._describing or (
                    node is self._root and key.value in _DESCRIPTIVE_KEYS
                )
                if not is_descriptive and yaml.serialize(values[key.value]) != yaml.serialize(value):
                    problem = f"the key {shown(key.value)} is there twice"
                    raise yaml.MarkedYAMLError(problem=problem, problem_mark=key.start_mark)
                self._repeated.append(key.value)
            values[key.value] = value
        return dict(super().construct_mapping(node, deep))


def _nodes(node: Any) -> Iterator[Any]:
    """Yield a node of YAML and all that lie in it."""
    yield node
    if isinstance(node, yaml.SequenceNode | yaml.MappingNode):
        for inner in node.value:
            for one in inner if isinstance(inner, tuple) else (inner,):
                yield from _nodes(one)


def _parsed(text: str, repeated: list[str]) -> Any:
    """Return the value of a YAML text. Aliases are refused: a few lines of them can fill the memory."""
    for token in yaml.scan(text):
        if isinstance(token, yaml.AliasToken):
            raise yaml.MarkedYAMLError(problem="aliases are not taken", problem_mark=token.start_mark)
    loader = _Loader(text, repeated)
    try:
        value = loader.get_single_data()
    finally:
        loader.dispose()
    return _without_blanks(value) if isinstance(value, dict) else {} if value is None else value


# --- sources -----------------------------------------------------------------------------------------


def language_of(name: str) -> str | None:
    """Return the language of a source file by its ending."""
    suffix = PurePosixPath(name).suffix
    language = of_suffix(suffix)
    return language.name if language else None


# Endings of sources in languages that are not judged; other files beside solutions are none.
_FOREIGN = frozenset(
    [
        ".adb",
        ".a68",
        ".cob",
        ".cr",
        ".d",
        ".dart",
        ".erl",
        ".ex",
        ".f90",
        ".fs",
        ".jl",
        ".lisp",
        ".lua",
        ".m",
        ".ml",
        ".nim",
        ".php",
        ".pl",
        ".py2",
        ".rb",
        ".scala",
        ".sh",
        ".swift",
        ".ts",
        ".vb",
        ".zig",
    ]
)


def note_foreign(path: Path, place: str, faults: Faults) -> None:
    """Note a solution in a language that is not judged."""
    if path.suffix.lower() in _FOREIGN:
        faults.note("left out: not in a known language", place)


def source_text(path: Path) -> str:
    """Return a source's text; comments of old solutions may be in older encodings."""
    content = path.read_bytes()
    try:
        return content.decode()
    except UnicodeDecodeError:
        return content.decode("latin-1")


def solution(source: Path | None, **said: Any) -> Solution:
    """Return a solution with the language and the code of its source, if it has one."""
    language = (language_of(source.name) or "") if source else ""
    return Solution(language=language, code=source_text(source) if source else "", **said)


def visible(paths: Iterable[Path]) -> list[Path]:
    return sorted(_there(path) for path in paths if not path.name.startswith("."))


def _there(path: Path) -> Path:
    """Return the path. FileNotFoundError for a link to what is not there: it would be passed over."""
    if path.is_symlink() and not path.exists():
        raise FileNotFoundError(errno.ENOENT, "a link that leads nowhere", path)
    return path


# --- programs with testlib.h, which many packages and datasets leave to the judge -------------------

TESTLIB = "testlib.h"
TESTLIB_REMEDY = (
    f"Put {TESTLIB} (github.com/MikeMirzayanov/testlib) beside the data, or into /usr/local/include"
)
_SYSTEM = (Path("/usr/local/include"), Path("/usr/include"))
# As changed for the contest system, where a checker's score is on its standard output.
_NO_EXIT_CODES = re.compile(r"testlibMode\s*==\s*_checker\s*\)\s*\{?\s*return\s+0\s*;")
_INCLUDES_TESTLIB = re.compile(r'^\s*#\s*include\s*["<](?:.*/)?testlib\.h[">]', re.MULTILINE)


def find_testlib(*folders: Path) -> Path | None:
    """Return the header's place: one of these folders, or where compilers look."""
    places = (folder / TESTLIB for folder in (*folders, *_SYSTEM))
    return next((place for place in places if place.is_file()), None)


def with_testlib(name: str, source: str, *folders: Path) -> tuple[NamedBlob, ...]:
    """Return the files of a program, with the header if it includes that. InputError where there is none."""
    main = NamedBlob(name=name, content=Blob.of(source))
    if not _INCLUDES_TESTLIB.search(source):
        return (main,)
    if (found := find_testlib(*folders)) is None:
        raise InputError(f"{name} includes {TESTLIB}, and there is none", remedy=TESTLIB_REMEDY)
    if "registerTestlibCmd" in source and _NO_EXIT_CODES.search(found.read_text(errors="replace")):
        what = f"{name} tells by its exit code what is right, and with {found} that is always 0"
        raise InputError(what, remedy=TESTLIB_REMEDY)
    return (main, NamedBlob(name=TESTLIB, content=Blob.of_file(found)))


# --- tests -------------------------------------------------------------------------------------------


def tests_of(folder: Path, needs_answers: bool, faults: Faults) -> tuple[Test, ...]:
    """Return the tests in tests/NAME.in and NAME.out."""
    inputs, answers = _by_name(folder, ".in"), _by_name(folder, ".out")
    if not inputs:
        faults.add("no tests", "tests", remedy="Expected files NAME.in and NAME.out in this folder")
    for name in sorted(answers.keys() - inputs.keys()):
        faults.add("missing file", f"tests/{name}.in", remedy=f"Add it or remove tests/{name}.out")
    for name in sorted(inputs.keys() - answers.keys() if needs_answers else ()):
        faults.add(
            "missing file", f"tests/{name}.out", remedy="There is no checker: outputs are compared with it"
        )
    _check_others(folder, frozenset() if needs_answers else inputs.keys() - answers.keys(), faults)
    for name in sorted(name for name in inputs if not name.isprintable()):
        faults.add("a test's name that cannot be printed", f"tests/{name!r}", remedy="Rename its files")
    return tuple(test_of(name, inputs[name], answers.get(name)) for name in sorted(inputs))


_NO_TESTS = frozenset({"mapping", "gen_summary"})  # of TPS
_ANSWERS = frozenset({".a", ".ans", ".answer", ".ok", ".out", ".output", ".res", ".sol"})
_NAMED = 5  # files


def _check_others(folder: Path, unanswered: Collection[str], faults: Faults) -> None:
    """Tell which files in tests/ are passed over; one that must be an answer is a fault."""
    others = [
        path.name
        for path in visible((folder / "tests").glob("*"))
        if path.is_file() and path.suffix not in (".in", ".out") and path.name not in _NO_TESTS
    ]
    answers = [
        name for name in others if Path(name).suffix.lower() in _ANSWERS and Path(name).stem in unanswered
    ]
    if answers:
        words = f"{len(answers)} tests have no NAME.out, and files that look like answers"
        faults.add(words, f"tests/{answers[0]}", remedy=f"Call it {Path(answers[0]).stem}.out")
    elif others:
        note_passed_over(others, "tests", ", as neither NAME.in nor NAME.out", faults)


def note_unused(folder: Path, part: str, used: Collection[Path], faults: Faults) -> None:
    """Note the files in one folder of the package that are no test's, though all that lie there are to be."""
    others = [path.name for path in visible((folder / part).glob("*")) if path.is_file() and path not in used]
    if others:
        note_passed_over(others, part, ", as no test names it", faults)


def note_passed_over(names: Sequence[str], part: str, why: str, faults: Faults) -> None:
    some = ", ".join(names[:_NAMED]) + (", ..." if len(names) > _NAMED else "")
    faults.note(f"passed over{why}: {some}", part)


def _by_name(folder: Path, suffix: str) -> dict[str, Path]:
    found = visible((folder / "tests").glob(f"*{suffix}"))
    return {path.name.removesuffix(suffix): path for path in found if path.is_file()}


def test_of(name: str, input_file: Path, answer: Path | None) -> Test:
    return Test(name=name, input=Blob.of_file(input_file), answer=Blob.of_file(answer) if answer else None)


def as_on_linux(path: Path) -> Blob:
    """Return a file of text with plain line ends: what was written by hand on Windows has CR LF."""
    content = path.read_bytes()
    return Blob.of(content.replace(b"\r\n", b"\n")) if b"\r\n" in content else Blob.of_file(path)


# --- files that are handed in ------------------------------------------------------------------------


def outputs_of(folder: Path, tests: Iterable[str]) -> tuple[NamedBlob, ...]:
    """Return the files output_<test>.txt (or <test>.out) of a folder, each under its test's name."""
    places = {test: (folder / f"output_{test}.txt", folder / f"{test}.out") for test in tests}
    first = {test: next(filter(Path.is_file, paths), None) for test, paths in places.items()}
    return tuple(NamedBlob(name=test, content=Blob.of_file(path)) for test, path in first.items() if path)
