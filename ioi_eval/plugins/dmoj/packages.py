"""Packages of DMOJ's judge (`init.yml`), with an archive of tests if they have one.

Limits are not in the format: DMOJ's site keeps them. They are taken from the tests of the judge's own test
suite (`tests/NAME/test.yml`), which also bring solutions.
"""

from __future__ import annotations

import ast
import itertools
import json
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import Any, NamedTuple

from msgspec.structs import replace

from ioi_eval.model.errors import InputError
from ioi_eval.model.fields import Faults, Fields, near, nearest, shown
from ioi_eval.model.languages import find
from ioi_eval.model.values import (
    DESK,
    Blob,
    Checker,
    CheckerKind,
    KeywordForTests,
    Limits,
    Manager,
    NamedBlob,
    Problem,
    ScoreType,
    Solution,
    Subtask,
    TaskOptions,
    TaskType,
    Test,
)
from ioi_eval.problems.archive import extracted, open_cache
from ioi_eval.problems.package import (
    TESTLIB,
    TESTLIB_REMEDY,
    DeclaredFormat,
    Executable,
    GeneratedTest,
    Making,
    is_plain,
    language_of,
    leads_inside,
    read_mapping,
    solution,
    source_text,
    time_limit,
    visible,
    with_testlib,
)
from ioi_eval.rules.grading import each_behind, least_behind
from ioi_eval.store import private_folder
from ioi_eval.store.resources import graders

_USUAL_FACTOR, _USUAL_OUTPUT = 3.0, 25165824  # of the time limit; bytes
_REFUSED = MappingProxyType(
    {
        "custom_judge": ("a grader for DMOJ's own judge is not run", "Use interactive, or signature_grader"),
        "io_redirects": ("files in place of descriptors are not given", "Use file_io"),
        "symlinks": ("submissions get no further files", "Take it out"),
        # Of judges that descend from DMOJ's, without which their packages are other problems.
        "communication": ("managers are not run in this format", "Write it as a Communication task of CMS"),
        "output_only": ("files are not handed in in this format", "Write it as an OutputOnly task of CMS"),
    }
)


class Dmoj(DeclaredFormat):
    name = "DMOJ"
    header = "init.yml"
    rank = 60
    memory_unit, memory_unit_name = 1 << 10, "KiB"

    def problem(self, folder: Path, where: str, header: Fields, faults: Faults) -> Problem:
        name = self.checked_id(folder, where, header, faults)
        _refuse(header, faults)
        suite = list(read_suite(folder, faults))
        data = Data(folder, header, faults)
        interactor = read_program(folder, header.inner("interactive")) if header.has("interactive") else None
        cases = _Cases(header, data, name)
        subtasks = cases.read()
        points = max(cases.worths.values(), default=0.0) or 1.0
        if any(checker.name == "linecount" for checker in cases.checkers.values()):
            faults.note("linecount: what a program wrote before it failed earns nothing here", self.header)
        by_percent = _by_percent(header, cases.checkers)
        most = 100.0 if by_percent else points
        checker = read_checker(folder, header, cases.checkers, most)
        judge = interactor.kind if interactor else checker.kind
        # The most points that a program of testlib may give, where a case has its own.
        has_own = judge is CheckerKind.TESTLIB and not by_percent
        own = {*cases.worths.values()} - {0, points} if has_own else set[float]()
        graders, prelude = read_graders(header, data)
        return Problem(
            id=name,
            name=name,
            source=where,
            task_type=TaskType.INTERACTIVE if interactor else TaskType.BATCH,
            options=replace(
                _files(header),
                with_grader=bool(graders),
                prelude=prelude,
                online_judge=True,
                line_buffered=interactor is not None and header.flag("unbuffered", False),
            ),
            limits=_limits(suite, header, cases, faults),
            grader_files=graders,
            checker=Checker() if interactor else checker,
            manager=replace(interactor, full=most) if interactor else None,
            tests=tuple(
                replace(
                    test,
                    full=cases.worths[test.name] if cases.worths[test.name] in own else None,
                    arguments=test.arguments if checker.kind is CheckerKind.CMS else (),
                )
                for test in cases.tests
            ),
            subtasks=subtasks,
            solutions=tuple(read_solutions(folder, suite, [test.name for test in cases.tests], faults)),
            cpp_standard="gnu++20",
        )

    def making(self, folder: Path, faults: Faults) -> Making | None:
        """Return the calls of generators, which write an input and, as errors, its answer."""
        values = self.mapping(folder, faults)
        if values is None:
            return None
        header = Fields(values, self.header, faults)
        reader = _Cases(header, Data(folder, header, faults), folder.name, folder)
        reader.read()
        if not reader.made and not faults.errors:
            faults.add(
                "no case has a generator", self.header, field="generator", remedy="Its tests are there"
            )
        return Making(tests=tuple(reader.made), generators=reader.generators, solution=None)


def _refuse(header: Fields, faults: Faults) -> None:
    for key, (words, remedy) in _REFUSED.items():
        if header.values.get(key):
            header.fault(key, words, remedy)
    for key in header.values:
        if key.endswith(("++", "=")):
            header.fault(key, "what Python makes while it is read is not run", "Write the values out")
        elif key not in _OF_HEADER and near(key, _OF_HEADER):  # a setting that would count nowhere
            header.fault(key, _UNKNOWN, nearest(key, _OF_HEADER))
        elif key not in _OF_HEADER:
            faults.note(f"{key}: {_UNKNOWN}, and it is passed over", Dmoj.header)
    if header.has("interactive") and header.has("signature_grader"):
        header.fault("interactive", "it has a signature_grader, too", "Choose one")
    if header.has("unbuffered") and header.flag("unbuffered", False) and header.has("interactive"):
        faults.note(
            "unbuffered: programs in C, C++ and Python write lines at once, others flush", Dmoj.header
        )


# --- limits and files of submissions ----------------------------------------------------------------


def _limits(suite: list[Fields], header: Fields, cases: _Cases, faults: Faults) -> Limits:
    time, memory = next(iter(cases.limits), (None, None))
    if time is None or memory is None:
        found = [(part.number("time", above=0), part.whole("memory", least=1)) for part in suite]
        if not found:
            words = f"no limits are in it: {_USUAL_TIME:g} s and {_USUAL_MEMORY >> 10} MiB, as of the judge's"
            faults.note(f"{words} command line; time_limit=... and memory_limit=... set others")
        if len(set(found)) > 1:
            faults.note("its tests have several limits, of which the largest hold", "tests")
        time = time or max((time for time, _ in found), default=0.0) or _USUAL_TIME
        memory = memory or max((memory for _, memory in found), default=_USUAL_MEMORY) or 1
    factor = header.number("wall_time_factor", _USUAL_FACTOR, above=0)
    return Limits(
        cpu_time=time,
        wall_time=time * factor,
        memory=memory * Dmoj.memory_unit,
        output=header.whole("output_limit_length", _USUAL_OUTPUT, least=1),
    )


def _files(header: Fields) -> TaskOptions:
    files, sides = header.inner("file_io"), ("input", "output")
    _refuse_unknown(files, sides)
    names = {side: files.text(side, "") for side in sides}
    for side, name in names.items():
        if name and not is_plain(name):
            files.fault(side, f"{name!r} is not a plain file name", "Use letters, digits, '_', '-' and '.'")
    return TaskOptions(input_file=names["input"], output_file=names["output"])


# --- test_cases: cases with points of their own, and batches that are passed as a whole -------------


_CASES, _PRETESTS = "test_cases", "pretest_test_cases"
_EXPECTED = "Write `- {in: 1.in, out: 1.out, points: 10}`, or `- {points: 10, batched: [...]}`"
# What holds for a case where it does not say it itself, nor its batch.
_INHERITED = (
    *("in", "out", "points", "checker", "binary_data", "generator", "generator_args"),
    *("time_limit", "memory_limit"),
)
_OF_CASES = (*_INHERITED, "batched", "dependencies", "output_prefix_length", "short_circuit", "meta")
_MADE = "generated"  # the folder of what generators made
_OF_ALL = ("output_limit_length", "wall_time_factor", "file_io", "symlinks", "io_redirects")
_OF_HEADER = (
    *(_CASES, _PRETESTS, "archive", *_OF_CASES, *_OF_ALL, *_REFUSED),
    *("interactive", "signature_grader", "unbuffered", "hints"),
)
_UNKNOWN = "DMOJ knows no such key"
# The format's own expressions, for archives whose cases are not listed.
_NUMBERS = r".*?(?:(?:^|\W)(?P<batch>\d+)[^\d\s]+)?(?P<case>\d+)[^\d\s]*$"
_USUAL = {"input_format": r"^(?=.*?\.in|in)" + _NUMBERS, "output_format": r"^(?=.*?\.out|out)" + _NUMBERS}


class _Part(NamedTuple):
    """A case, or a batch of cases."""

    name: str  # of a batch; empty: a case
    points: float
    tests: tuple[str, ...]
    needs: tuple[int, ...] = ()  # earlier batches


class _Cases:
    """The cases of a package. With a `folder` it is noted how they are made; else they have to be there."""

    def __init__(self, header: Fields, data: Data, problem: str, folder: Path | None = None) -> None:
        self._header, self._data, self._problem, self._folder = header, data, problem, folder
        self.made: list[GeneratedTest] = []
        self.generators: dict[str, Executable] = {}
        self.tests: list[Test] = []
        self.worths: dict[str, float] = {}  # the points of each test's case or batch
        self.checkers: dict[str, CaseChecker] = {}
        self.limits = set[tuple[float | None, int | None]]()  # seconds and KiB that cases have of their own
        self._batches = 0
        self._unanswered: list[Fields] = []  # cases whose outputs would be compared with nothing

    def read(self) -> tuple[Subtask, ...]:
        pretests = self._parts(_PRETESTS) if self._header.has(_PRETESTS) else []
        parts = [*(part._replace(points=0.0) for part in pretests), *self._parts(_CASES)]
        if not parts:
            self._header.fault(_CASES, "no cases", _EXPECTED)
        elif not any(part.points for part in parts):
            self._header.fault("points", "nothing is worth points", "Give cases or batches points")
        if self._unanswered:
            words = f"missing in {len(self._unanswered)} cases, and outputs are compared with it"
            self._unanswered[0].fault(
                "out", words, "Name the answer, an empty file if nothing is to be written"
            )
        if len(self.limits) > 1:
            self._header.fault(_CASES, "limits differ between cases", "Give all of them the same")
        return tuple(_subtasks(parts, [part for part in parts if part.name]))

    # --- what is listed ----------------------------------------------------------------------------------

    def _parts(self, key: str) -> list[_Part]:
        listed = self._header.values.get(key)
        if listed is None or isinstance(listed, Mapping):
            listed = list(_matched(self._header, self._data, listed or {}))
        if not isinstance(listed, list) or not all(isinstance(part, Mapping) for part in listed):
            self._header.fault(key, f"{shown(listed)} is not a list of cases", _EXPECTED)
            return []
        usual = {name: self._header.values[name] for name in _INHERITED if self._header.has(name)}
        return [
            self._part(self._header.under(f"{key}.{place}", {"points": 1, **usual, **part}), part)
            for place, part in enumerate(listed)
        ]

    def _part(self, fields: Fields, own: Mapping[str, Any]) -> _Part:
        points = fields.number("points")
        if "batched" not in own:
            return _Part("", points, (self._case(fields, points, own, batch=0, stops=False),))
        self._batches += 1
        _check_keys(fields, own)
        number, inner = self._batches, own["batched"]
        if not isinstance(inner, list) or not inner or not all(isinstance(part, Mapping) for part in inner):
            fields.fault("batched", "not a list of cases", _EXPECTED)
            inner = []
        # DMOJ's site takes a batch's points from its cases, which have the batch's where they say none.
        readers = (fields.under(f"batched.{place}", part) for place, part in enumerate(inner))
        worths = {reader.number("points", points) for reader in readers} or {points}
        if len(worths) > 1:
            words = "the cases of a batch have different points"
            fields.fault("points", words, "Give the batch points, and its cases none")
        points = max(worths)
        values = {name: fields.values[name] for name in _INHERITED if name in fields.values}
        tests = [
            self._case(
                fields.under(f"batched.{place}", {**values, **part}),
                points,
                part,
                batch=number,
                stops=place < len(inner) - 1,
            )
            for place, part in enumerate(inner)
        ]
        return _Part(f"batch {number}", points, tuple(tests), self._needs(fields, number))

    def _needs(self, fields: Fields, number: int) -> tuple[int, ...]:
        dependencies = fields.values.get("dependencies") or []
        if isinstance(dependencies, list) and all(
            type(dependency) is int and 0 < dependency < number for dependency in dependencies
        ):
            return tuple(dependencies)
        fields.fault(
            "dependencies", f"{shown(dependencies)} are not numbers of earlier batches", "Count from 1"
        )
        return ()

    def _case(self, fields: Fields, points: float, own: Mapping[str, Any], *, batch: int, stops: bool) -> str:
        _check_keys(fields, own)
        if "batched" in own:
            fields.fault("batched", "a batch in a batch", "Move it to the top of the file")
        position = len(self.tests)
        name = str(position + 1)
        if fields.has("generator"):
            fields = self._generated(fields, name)
        memory = fields.whole("memory_limit", least=1) if fields.has("memory_limit") else None
        self.limits.add((None if fields.value("time_limit") is None else time_limit(fields), memory))
        binary = fields.flag("binary_data", False)
        blobs = [self._content(fields, key, binary=binary) for key in ("in", "out")]
        checker = chosen(fields)
        answered = any(map(fields.has, ("out", "generator"))) or self._header.has("interactive")
        if not answered and checker.name in _OWN:
            self._unanswered.append(fields)
        values = {"points": points, "position": position, "batch": batch, "stops": stops, "binary": binary}
        arguments = (checker.argument({**values, "problem": self._problem}),)
        self.tests.append(Test(name=name, input=blobs[0], answer=blobs[1], arguments=arguments))
        self.worths[name], self.checkers[name] = points, checker
        return name

    def _generated(self, fields: Fields, name: str) -> Fields:
        """Return the case with the files that its generator made where it names none."""
        if fields.has("in"):  # with `out` a generator is not asked
            if not fields.has("out"):
                problem = "it reads `in` here and writes another input, which is not done"
                fields.fault("generator", problem, "Name `out`, too, or take `in` out")
            return fields
        places = {key: f"{_MADE}/{name}.{key}" for key in ("in", "out")}
        generator = fields.values["generator"]
        words = generator if isinstance(generator, Mapping) else {"files": generator}
        _check_program_keys(fields.under("generator", words), _OF_GENERATORS)
        given = fields.values.get("generator_args") or words.get("args") or []
        arguments = tuple(map(str, given)) if isinstance(given, list) else (str(given),)
        if self._folder is not None:
            named = {"files": words.get("source", words.get("files")), "lang": words.get("language")}
            files = named["files"]
            key = " ".join(map(str, files)) if isinstance(files, list) else str(files)
            if key not in self.generators:
                inner = fields.under("generator", {k: v for k, v in named.items() if v is not None})
                if (program := read_program(self._folder, inner)) is not None:
                    self.generators[key] = Executable(program.sources, program.language)
            self.made.append(GeneratedTest(places["in"], places["out"], (key, *arguments)))
            return fields
        if any(self._data.path(place) is None for place in places.values()):
            missing = f"there is no {places['in']} or {places['out']}, which a program makes"
            remedy = "Make them with ioi_eval.runs.generating.generate(PACKAGE, DIR)"
            fields.fault("generator", missing, remedy)
            return fields
        return fields.under("", {**fields.values, **{k: v for k, v in places.items() if not fields.has(k)}})

    def _content(self, fields: Fields, key: str, *, binary: bool) -> Blob:
        if not fields.has(key):
            return Blob.of(b"")
        name = fields.text(key)
        content = self._data.content(name, binary=binary)
        if content is None:
            fields.fault(key, f"there is no file {name!r} in the package", "Add it, or correct the name")
        return content or Blob.of(b"")


def _check_keys(fields: Fields, own: Mapping[str, Any]) -> None:
    """Refuse the keys of a case or a batch that would count nowhere."""
    for key in map(str, own):
        if key in _OF_ALL:
            fields.fault(key, "cases have none of their own here", "Move it to the top of the file")
        elif key not in _OF_CASES:
            fields.fault(key, _UNKNOWN, nearest(key, _OF_CASES))


# --- what is not listed but matched ------------------------------------------------------------------


def _matched(header: Fields, data: Data, values: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield cases by the names of the archive's files, batches and cases in the order of their numbers."""
    formats = header.under(_CASES, values)
    _refuse_unknown(formats, (*_USUAL, "case_points"))
    if not header.values.get("archive"):
        header.fault("archive", "missing", "Name the archive whose files are the cases, or list the cases")
        return
    groups: dict[Any, dict[Any, dict[str, str]]] = {}
    batches = set[Any]()
    for key, side in (("input_format", "in"), ("output_format", "out")):
        pattern = _pattern(formats, key)
        for name in data.names() if pattern else ():
            if pattern and (found := pattern.match(name)):
                batch, case = _number(found, "batch"), _number(found, "case")
                batches |= set() if batch is None else {batch}
                group = groups.setdefault(case if batch is None else batch, {}).setdefault(case, {})
                if case is None:
                    formats.fault(key, f"it finds no case in {name!r}", "Name a group: (?P<case>\\d+)")
                elif side in group:
                    words = f"{group[side]!r} and {name!r} are one case, {case}"
                    formats.fault(key, words, "Rename one, or list the cases")
                group[side] = name
    points = values.get("case_points")
    given = iter(points) if isinstance(points, list) else itertools.repeat(header.values.get("points", 1))
    for key in sorted(groups, key=_in_order):
        cases = [groups[key][case] for case in sorted(groups[key], key=_in_order)]
        worth = next(given, None)
        if worth is None or (key not in batches and len(cases) > 1):
            words = "fewer points than cases" if worth is None else f"several cases are called {key}"
            header.under(_CASES, values).fault("case_points" if worth is None else "input_format", words)
            return
        yield {"points": worth, **({"batched": cases} if key in batches else cases[0])}
    if isinstance(points, list) and len(points) > len(groups):
        formats.fault("case_points", "more points than cases", "Correct it, or add the files of the others")


def _in_order(key: Any) -> tuple[bool, Any]:
    """Return a key that sorts texts before numbers."""
    return isinstance(key, int), key


def _number(found: re.Match[str], group: str) -> Any:
    text = found.groupdict().get(group)
    return int(text) if text is not None and text.isdecimal() else text


def _pattern(fields: Fields, key: str) -> re.Pattern[str] | None:
    try:
        return re.compile(fields.text(key, _USUAL[key]), re.IGNORECASE)
    except re.error as error:
        fields.fault(key, f"not a regular expression: {error}", "Correct it in the file")
        return None


# --- what they are worth -----------------------------------------------------------------------------


def _subtasks(parts: Sequence[_Part], batches: Sequence[_Part]) -> Iterator[Subtask]:
    """Yield a subtask for each batch and each run of cases. Those without points gate all that follow."""
    before: list[str] = []
    for is_batch, alike in itertools.groupby(parts, key=lambda part: bool(part.name)):
        if is_batch:
            for part in alike:
                needed = [*before, *(name for number in part.needs for name in _with_needs(batches, number))]
                yield Subtask(
                    name=part.name,
                    points=part.points,
                    tests=tuple(dict.fromkeys([*needed, *part.tests])),
                    score_type=ScoreType.SUM if needed else ScoreType.GROUP_MIN,
                    # A case that earns a part of its points is passed: it costs others nothing.
                    grading=least_behind(part.tests, part.points, needed) if needed else None,
                )
                before += part.tests if not part.points else ()
        else:
            for gate, run in itertools.groupby(alike, key=lambda part: not part.points):
                worths = {name: case.points for case in run for name in case.tests}
                first, last = next(iter(worths)), list(worths)[-1]
                tree = each_behind(worths, before) if before or len(set(worths.values())) > 1 else None
                yield Subtask(
                    name=f"case {first}" if first == last else f"cases {first} to {last}",
                    points=sum(worths.values()),
                    tests=tuple(dict.fromkeys([*before, *worths])),
                    score_type=ScoreType.SUM,
                    grading=tree,
                )
                before += worths if gate else ()


def _with_needs(batches: Sequence[_Part], number: int) -> Iterable[str]:
    """Yield the tests of a batch and of those that it needs: one that was not judged is not passed."""
    part = batches[number - 1]
    for other in part.needs:
        yield from _with_needs(batches, other)
    yield from part.tests


# --- checkers: by name, `check` functions in Python, programs in other languages --------------------


BRIDGED, STANDARD = "bridged", "standard"
# The judge's own. graders/python/dmoj_checker.py has them.
_OWN: Mapping[str, tuple[str, ...]] = MappingProxyType(  # with what their `args` may say
    {
        STANDARD: (),
        "easy": (),
        "floats": ("precision", "error_mode"),
        "floatsabs": ("precision",),
        "floatsrel": ("precision",),
        "identical": ("pe_allowed",),
        "linecount": ("feedback",),
        "linematches": ("point_distribution", "filler_lines_required"),
        "rstripped": ("filter_new_line",),
        "sorted": ("split_on",),
        "unordered": (),
    }
)
_SCRIPT = "dmoj_checker.py"
# What the judge tells a `check` function of a submission, and nobody here does.
_ASKS = re.compile(r"\b(submission_source|submission_language|execution_time|run_on_error)\b")


class CaseChecker(NamedTuple):
    """The checker of one case."""

    name: str
    args: Mapping[str, Any]

    def argument(self, values: Mapping[str, Any]) -> str:
        """Return the script's argument for a case."""
        name = module_of(self.name) if "." in self.name else self.name
        return json.dumps({"check": name, "args": self.args, **values}, sort_keys=True, default=str)


def chosen(fields: Fields) -> CaseChecker:
    checker = fields.values.get("checker") or STANDARD
    if isinstance(checker, str):
        return CaseChecker(checker, {})
    inner = fields.inner("checker")
    _refuse_unknown(inner, ("name", "args"))
    args = inner.values.get("args") or {}
    if not isinstance(args, Mapping):
        inner.fault("args", f"{shown(args)} is not an object", "Write `args: {precision: 6}`")
        args = {}
    name = inner.text("name", STANDARD)
    for key in args if name in _OWN else ():
        if key not in _OWN[name]:
            inner.under("args", args).fault(key, f"{name} knows no such argument", nearest(key, _OWN[name]))
    return CaseChecker(name, args)


def module_of(name: str) -> str:
    """Return the module's name of a checker's file, one that no other module has."""
    return "package_" + re.sub(r"\W", "_", name.removesuffix(".py"))


def _by_percent(header: Fields, checkers: Mapping[str, CaseChecker]) -> bool:
    """Return True where the points that a program gives are parts of 100."""
    told = (checker.args for checker in checkers.values() if checker.name == BRIDGED)
    args = header.inner("interactive").values if header.has("interactive") else next(told, {})
    return args.get(_PERCENT) is True


def read_checker(folder: Path, header: Fields, checkers: Mapping[str, CaseChecker], points: float) -> Checker:
    """Return one checker for all cases. `points`: the most that a case is worth."""
    names = {checker.name for checker in checkers.values()}
    for name in sorted(names):
        _check_name(folder, header, name)
    if names <= {STANDARD}:
        return Checker(kind=CheckerKind.WORD_LINES)
    if BRIDGED not in names:
        script = NamedBlob(name=_SCRIPT, content=Blob.of_file(graders() / "python" / _SCRIPT))
        modules = (
            NamedBlob(name=f"{module_of(name)}.py", content=Blob.of_file(folder / name))
            for name in sorted(names)
            if "." in name and (folder / name).is_file()
        )
        return Checker(kind=CheckerKind.CMS, sources=(script, *modules), language="python")
    arguments = {json.dumps(checker.args, sort_keys=True, default=str) for checker in checkers.values()}
    if len(names) > 1 or len(arguments) > 1:
        header.fault("checker", "its cases have different programs", "Give all cases the same checker")
    args = next(checker.args for checker in checkers.values() if checker.name == BRIDGED)
    program = read_program(folder, header.under("checker.args", args))
    if program is None:
        return Checker()
    return Checker(
        kind=program.kind,
        sources=program.sources,
        language=program.language,
        full=points,
        given=program.given,
    )


def _check_name(folder: Path, header: Fields, name: str) -> None:
    if "." not in name:
        if name not in (*_OWN, BRIDGED):
            header.fault("checker", f"{name!r} is not known", nearest(name, (*_OWN, BRIDGED)))
        return
    path = folder / name
    if not name.endswith(".py") or not is_plain(name) or not path.is_file():
        header.fault("checker", f"there is no file {name!r} in the package", "Name one in Python")
    elif broken := _broken(source_text(path)):
        header.fault("checker", f"{name} does not compile: {broken}", "Correct it")
    elif asked := _ASKS.search(source_text(path)):
        words = f"{name} asks for {asked[1]}, which checkers are not given here"
        header.fault("checker", words, "Let it judge by the output alone, of programs that ended well")


def _broken(source: str) -> str:
    """Return the reason why Python refuses a source; empty where it does not."""
    try:
        ast.parse(source)
    except SyntaxError as error:
        return f"line {error.lineno}: {error.msg}"
    except (ValueError, RecursionError, MemoryError) as error:
        return str(error)
    return ""


# --- programs in languages of their own --------------------------------------------------------------

_PERCENT = "treat_checker_points_as_percentage"
_OF_BUILDS = ("flags", "time_limit", "memory_limit", "compiler_time_limit")
_OF_GENERATORS = ("source", "files", "language", "args", *_OF_BUILDS)
_OF_PROGRAMS = (
    *("files", "lang", "type", "args_format_string", _PERCENT, *_OF_BUILDS),
    *("feedback", "preprocessing_time"),
)

# Programs by the way in which they speak. Of another one its name is told.
_SPEAKS: Mapping[str, CheckerKind] = MappingProxyType(
    {"default": CheckerKind.EXIT_CODE, "testlib": CheckerKind.TESTLIB, "coci": CheckerKind.TESTLIB}
)

_DEFINED = "#define SIGNATURE_GRADER\n"  # in front of all sources


def read_program(folder: Path, fields: Fields) -> Manager | None:
    """Return an interactor or a checker in a language of its own: `files`, `lang`, `type`."""
    kind = fields.choice("type", tuple(_SPEAKS), "default")
    _check_program_keys(fields, _OF_PROGRAMS)
    listed = fields.values.get("files")
    names = [listed] if isinstance(listed, str) else listed if isinstance(listed, list) else []
    lying = [
        name for name in names if isinstance(name, str) and leads_inside(name) and (folder / name).is_file()
    ]
    if not names or lying != names:
        fields.fault("files", f"{shown(listed)} is not in the package", "Name its source, headers behind it")
        return None
    sources = [name for name in lying if language_of(name)]
    if len(sources) != 1:
        fields.fault("files", f"{len(sources)} sources", "Name one source; what it includes may stand beside")
        return None
    language = _language(fields, sources[0])
    try:
        source = folder / sources[0]
        program = with_testlib(sources[0], source_text(source), source.parent, folder, folder.parent)
    except InputError as error:
        fields.fault("files", error.problem, TESTLIB_REMEDY)
        return None
    others = (name for name in lying if name != sources[0] and name != TESTLIB)
    beside = tuple(NamedBlob(name=name, content=Blob.of_file(folder / name)) for name in others)
    return Manager(sources=(*program, *beside), language=language, kind=_SPEAKS[kind], given=_given(fields))


def _check_program_keys(fields: Fields, known: Sequence[str]) -> None:
    """Refuse what is said of a program and counts nowhere."""
    if fields.values.get("flags"):
        fields.fault("flags", "programs are built as others are", "Take it out")
    _refuse_unknown(fields, known)


def _refuse_unknown(fields: Fields, known: Sequence[str]) -> None:
    """Refuse keys that would count nowhere."""
    for key in map(str, fields.values):
        if key not in known:
            fields.fault(key, _UNKNOWN, nearest(key, known))


def _given(fields: Fields) -> tuple[str, ...]:
    """Return a program's arguments, with the names of files as they lie before it."""
    order = fields.text("args_format_string", "")
    for word, name in DESK.items():
        order = order.replace(f"{{{word}_file}}", name)
    try:
        given = shlex.split(order)
    except ValueError as error:
        given = [f"{{{error}}}"]
    if unknown := next((word for word in given if re.search("[{}]", word)), None):
        words = f"{unknown!r} is not given"
        fields.fault("args_format_string", words, "Use {input_file}, {output_file} and {answer_file}")
    return tuple(given)


def _language(fields: Fields, source: str) -> str:
    name = fields.text("lang", language_of(source) or "")
    language = _known_language(name)
    if language not in ("c++", "c", "python"):
        fields.fault("lang", f"it is in {name}", "Expected C++, C or Python")
        return "c++"
    return language


def _known_language(name: str) -> str:
    """Return our name of a language; its own where it is none of ours."""
    try:
        return find(name).name
    except InputError:
        return name


def read_graders(header: Fields, data: Data) -> tuple[tuple[NamedBlob, ...], str]:
    """Return the files that submissions are compiled with, and the lines in front of them."""
    if not header.has("signature_grader"):
        return (), ""
    signature = header.inner("signature_grader")
    _refuse_unknown(signature, ("entry", "header", "allow_main"))
    texts: dict[str, bytes] = {}
    for key in ("entry", "header"):
        name = signature.text(key)
        content = data.content(name) if name else None
        if name and (content is None or not is_plain(name)):
            signature.fault(
                key, f"there is no file {name!r} in the package", "Add it, or name the one that is"
            )
        texts[key] = content.read() if content is not None else b""
    entry, name = signature.text("entry", "grader.cpp"), signature.text("header", "header.h")
    suffixes = (".c", ".cpp") if entry.endswith(".c") else (".cpp",)
    lines = f'{_DEFINED}#include "{name}"\n'
    if not signature.flag("allow_main", False):
        lines += "#define main main_of_the_submission\n"
    files: dict[str, bytes] = {
        f"graders/grader{suffix}": _DEFINED.encode() + b"#line 1\n" + texts["entry"] for suffix in suffixes
    }
    files[f"graders/{name}"] = texts["header"]
    return tuple(NamedBlob(name=name, content=Blob.of(text)) for name, text in files.items()), lines


# --- the files ---------------------------------------------------------------------------------------


class Data:
    """A package's files by name. Line ends become plain ones, as in the judge, unless the data is binary."""

    def __init__(self, folder: Path, header: Fields, faults: Faults) -> None:
        self._folder, self._header, self._faults = folder, header, faults

    @cached_property
    def _archive(self) -> Path | None:
        """Return the folder of the archive's files, in the cache until this process ends."""
        name = self._header.text("archive", "")
        path = self._folder / name
        if not leads_inside(name) or not path.is_file():
            if name:
                self._header.fault("archive", f"there is no file {name!r} in the package", "Add it")
            return None
        try:
            return extracted(path, open_cache(private_folder() / "packages")).folder
        except InputError as error:
            self._header.fault("archive", error.problem, error.remedy)
            return None

    def names(self) -> list[str]:
        """Return the names of the files in the archive."""
        if (folder := self._archive) is None:
            return []
        return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())

    def path(self, name: str) -> Path | None:
        folders = (self._folder, self._archive) if leads_inside(name) else ()
        places = (folder / name for folder in folders if folder is not None)
        return next((place for place in places if place.is_file()), None)

    def content(self, name: str, *, binary: bool = True) -> Blob | None:
        path = self.path(name)
        if path is None:
            return None
        if binary:
            return Blob.of_file(path)
        content = path.read_bytes()
        plain = re.sub(rb"\r\n?", b"\n", content)
        if plain and not plain.endswith(b"\n"):
            plain += b"\n"
        return Blob.of_file(path) if plain == content else Blob.of(plain)


# --- solutions: the tests of the judge's own suite, tests/NAME/test.yml -----------------------------


_FILES = ("test.yml", "test.posix.yml", "test.linux.yml")  # what comes later wins
_USUAL_TIME, _USUAL_MEMORY = 2.0, 65536  # of the judge's own command line: seconds, KiB
# DMOJ's codes, in the words of rules. What was skipped there is judged here.
_CODES: Mapping[str, str] = MappingProxyType(
    {"AC": "ac", "WA": "wa", "TLE": "tle", "MLE": "rte", "OLE": "rte", "RTE": "rte", "IR": "rte"}
)
_SKIPPED, _ANY, _NOT_COMPILED, _BROKEN = "SC", "*", "CE", "IE"


def read_solutions(
    folder: Path, suite: Iterable[Fields], names: Sequence[str], faults: Faults
) -> Iterator[Solution]:
    """Yield the suite's solutions. `names`: those of the problem's tests, in order."""
    for entry in suite:
        listed = entry.values.get("source")
        place = PurePosixPath(entry.file).parent
        for source in [listed] if isinstance(listed, str) else listed if isinstance(listed, list) else [""]:
            path = folder / place / str(source)
            if not leads_inside(str(source)) or not path.is_file():
                remedy = "Name a file beside it"
                faults.add(f"there is no file {source!r}", entry.file, field="source", remedy=remedy)
                continue
            read = _solution(entry, path, names, faults)
            if read is not None:
                yield read


def read_suite(folder: Path, faults: Faults) -> Iterator[Fields]:
    for place in visible((folder / "tests").glob("*/")):
        values: dict[str, Any] = {}
        files = [f"tests/{place.name}/{name}" for name in _FILES]
        for file in files:
            if (folder / file).is_file():
                values |= read_mapping(folder, file, faults) or {}
        if values and not values.get("skip"):
            yield Fields(values, files[0], faults)


def _solution(entry: Fields, path: Path, names: Sequence[str], faults: Faults) -> Solution | None:
    spoken = entry.values.get("language")
    language = _known_language(str(spoken)) if spoken else language_of(path.name) or ""
    whole = _codes(entry.values.get("expect", "AC"), entry, "expect")
    for key in ("score", "score_cases"):
        if key in entry.values:
            faults.note(f"{key} is not compared", entry.file)
    if whole == {_NOT_COMPILED}:
        expected, rules = "compile_error", list[KeywordForTests]()
    elif _BROKEN in whole:
        faults.note("left out: it asks for a failure of the judge", entry.file)
        return None
    else:
        cases = dict(_cases(entry, names, faults))
        rest = tuple(name for name in names if name not in cases)
        in_part = "score" in entry.values or "score_cases" in entry.values  # AC with however many points
        expected = "accepted" if whole == {"AC"} and not cases and not in_part else ""
        rules = [] if expected else list(_rules("", whole, rest))
        for name, codes in cases.items():
            rules += _rules(f"case {name}", codes, (name,))
    read = solution(
        path, name=f"{path.parent.name}/{path.name}", expected=expected, test_keywords=tuple(rules)
    )
    return replace(read, language=language)


def _cases(entry: Fields, names: Sequence[str], faults: Faults) -> Iterator[tuple[str, set[str]]]:
    """Yield the codes of single cases, given by number or as a list from the first one on."""
    listed = entry.values.get("cases") or {}
    pairs = enumerate(listed, 1) if isinstance(listed, list) else dict(listed).items()
    for number, codes in pairs:
        if str(number) not in names:
            faults.note(
                f"cases: there is no case {number}, and what it says of that is passed over", entry.file
            )
            continue
        yield str(number), _codes(codes, entry, "cases")


def _codes(value: Any, entry: Fields, key: str) -> set[str]:
    listed = [value] if isinstance(value, str) else value if isinstance(value, list) else []
    words = {*_CODES, _SKIPPED, _ANY, _NOT_COMPILED, _BROKEN}
    if not listed or not all(isinstance(word, str) and word in words for word in listed):
        entry.fault(key, f"{shown(value)} is no status of DMOJ's", f"Expected {', '.join(sorted(words))}")
        return {_ANY}
    return set(listed)


def _rules(scope: str, codes: set[str], tests: tuple[str, ...]) -> Iterator[KeywordForTests]:
    """Yield the codes that tests may have; where some may be skipped, those that one of them must have."""
    words = sorted({_CODES[code] for code in codes if code in _CODES})
    if not tests or _ANY in codes or not words:
        return
    rule = "required" if _SKIPPED in codes else "permitted"
    if rule == "required" and (scope or "AC" in codes):
        return
    yield KeywordForTests(subtask=scope, keyword=" ".join((rule, *words)), tests=tests)


FORMAT = Dmoj()
