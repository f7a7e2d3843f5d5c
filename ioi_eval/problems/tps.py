"""Packages of the IOI's task preparation system, read after their tests were generated.

Its graders are known to the judge under the names that they have in an export for the contest system:
grader/cpp/<grader_name>.cpp is what a submission is compiled with, grader/py/<grader_name>.py imports it, and
grader/manager.cpp is the manager.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from msgspec.structs import replace

from ioi_eval.model.fields import Faults, Fields, nearest
from ioi_eval.model.values import (
    Checker,
    CheckerKind,
    NamedBlob,
    Problem,
    Solution,
    Subtask,
    TaskOptions,
    TaskType,
)
from ioi_eval.problems.cms import (
    USER_IO,
    check_pipes,
    manager_of,
    read_options,
    read_params,
    that_import,
    with_sources,
)
from ioi_eval.problems.package import (
    DeclaredFormat,
    files_below,
    first_named,
    language_of,
    leads_inside,
    outputs_of,
    read_mapping,
    refuse_misspelt,
    solution,
    tests_of,
)
from ioi_eval.rules.languages import grader_name
from ioi_eval.rules.plan import needs_answers

_KEYS = (
    *("name", "title", "type", "time_limit", "memory_limit", "has_grader", "has_checker", "has_manager"),
    *("grader_name", "type_params", "task_type_params", "task_type_parameters"),
    *("num_processes", "user_io", "score_precision"),
)
# The keys for the parameters of the task type: the system's own, and the contest system's.
_PARAMS = ("type_params", "task_type_params")
_SUBTASKS, _SOLUTIONS, _MAPPING = "subtasks.json", "solutions.json", "tests/mapping"
_TASK_TYPES = (TaskType.BATCH, TaskType.COMMUNICATION, TaskType.OUTPUT_ONLY, TaskType.TWO_STEPS)
_NO_GRADER = frozenset({TaskType.OUTPUT_ONLY})
_NO_CHECKER = frozenset({TaskType.COMMUNICATION})


class Tps(DeclaredFormat):
    name = "TPS"
    header = "problem.json"
    rank = 70
    id_field = "name"
    memory_unit_name = "MB"
    folders = ("checker", "grader", "solution", "tests")

    def looks_like_package(self, folder: Path) -> bool:
        if (folder / _SUBTASKS).exists():
            return True
        header = self.mapping(folder, Faults("")) if super().looks_like_package(folder) else None
        return header is not None and "type" in header and "task_type" not in header

    def problem(self, folder: Path, where: str, header: Fields, faults: Faults) -> Problem:
        refuse_misspelt(header, _KEYS)
        task = header.word("type", TaskType)
        if task not in _TASK_TYPES:
            words = f"there are no {task} tasks in this format"
            header.fault("type", words, f"It has {', '.join(_TASK_TYPES)}")
        graders = _graders(folder, header, task)
        checker = _checker(folder, header, task)
        options = _options(header, task, graders, faults)
        tests = tests_of(folder, needs_answers(task, checker), faults)
        names = tuple(test.name for test in tests)
        subtasks = _subtasks(folder, names, faults)
        code = self.checked_id(folder, where, header, faults)
        if options.with_grader:
            graders = that_import(code.lower(), task, graders, faults, "grader/py")
        return Problem(
            id=code,
            name=header.text("title", code),
            source=where,
            task_type=task,
            options=options,
            limits=self.limits(header, task),
            grader_files=graders,
            checker=checker,
            manager=manager_of(header, task, graders, faults, "grader"),
            tests=tests,
            subtasks=subtasks,
            score_precision=header.whole("score_precision", 2, most=9),
            solutions=_solutions(folder, task, names, tuple(subtask.name for subtask in subtasks), faults),
        )


# --- problem.json ------------------------------------------------------------------------------------


def _options(header: Fields, task: TaskType, graders: Sequence[NamedBlob], faults: Faults) -> TaskOptions:
    with_grader = header.flag("has_grader", task not in _NO_GRADER)
    if with_grader and first_named(graders, [grader_name(task)]) is None:
        missing = f"grader/cpp/{header.text('grader_name', 'grader')}.cpp"
        faults.add("missing file", missing, remedy="Add it, or set has_grader to false in problem.json")
    if task not in _TASK_TYPES:
        return TaskOptions(with_grader=with_grader)  # it is noted
    params = read_params(header, task, faults, _params_key(header))
    options = replace(read_options(params, task, with_grader), with_grader=with_grader)
    if task is not TaskType.COMMUNICATION:
        return options
    if not params.has("user_io") and not header.has("user_io"):
        options = check_pipes(options, graders, faults)
    return replace(  # what problem.json says itself wins over the parameters, as in the export
        options,
        processes=header.whole("num_processes", options.processes, least=1, most=100),
        user_io=header.choice("user_io", USER_IO, options.user_io),
    )


def _params_key(header: Fields) -> str:
    """Return the key under which a package has its parameters. Two keys with different values are a fault."""
    given = [key for key in _PARAMS if header.has(key)]
    if len(given) == 2 and header.values[given[0]] != header.values[given[1]]:
        header.fault(given[1], f"another value than {given[0]}", f"Remove {given[0]} or {given[1]}")
    return given[0] if given else _PARAMS[0]


# --- programs ----------------------------------------------------------------------------------------


def _graders(folder: Path, header: Fields, task: TaskType) -> tuple[NamedBlob, ...]:
    """Return the files of grader/cpp, grader/c, grader/py and grader itself, such as the manager's."""
    files = files_below(folder, "grader")
    inside = {
        f"graders/{file.name.removeprefix(place)}": file.content
        for place in ("grader/", "grader/py/", "grader/c/", "grader/cpp/")  # what comes later wins
        for file in files
        if file.name.startswith(place) and (place != "grader/" or len(PurePosixPath(file.name).parts) == 2)
    }
    has_stub = task is TaskType.COMMUNICATION and (folder / "grader/cpp/stub.cpp").is_file()
    own = header.text("grader_name", "stub" if has_stub else "grader")
    for suffix in (".cpp", ".c", ".py"):
        # The grader that the package names gets the name by which submissions are compiled with it.
        grader = inside.pop(f"graders/{own}{suffix}", None)
        known_as = f"{grader_name(task)}{suffix}"
        if grader is not None:
            inside[known_as] = grader
        elif header.has("grader_name"):
            inside.pop(known_as, None)  # another one than the package asks for
    return tuple(NamedBlob(name=name, content=inside[name]) for name in sorted(inside))


def _checker(folder: Path, header: Fields, task: TaskType) -> Checker:
    """Return the checker, which is written for the contest system: the score on standard output."""
    if not header.flag("has_checker", task not in _NO_CHECKER):
        return Checker()
    sources = files_below(folder, "checker")
    if not sources and not header.has("has_checker"):
        return Checker()
    return with_sources(Checker(kind=CheckerKind.CMS), sources, header, "has_checker", "false")


# --- subtasks ----------------------------------------------------------------------------------------


def _subtasks(folder: Path, tests: tuple[str, ...], faults: Faults) -> tuple[Subtask, ...]:
    values = read_mapping(folder, _SUBTASKS, faults)
    if values is None:
        return ()
    listed = Fields(values, _SUBTASKS, faults).inner("subtasks")
    mapping = _mapping(folder, tuple(listed.values), tests, faults)
    places = {name: listed.inner(name) for name in listed.values}
    order = {name: place.number("index", 0.0) for name, place in places.items()}
    found = list[Subtask]()
    for name, place in sorted(places.items(), key=lambda pair: order[pair[0]]):
        own = () if mapping is None else mapping.get(name, ())
        points = place.number("score")
        if mapping is not None and not own and place.values.get("score"):
            place.fault("score", "points for a subtask without tests", f"Name its tests in {_MAPPING}")
        found.append(Subtask(name=name, points=points, tests=own))
    return tuple(found)


def _mapping(
    folder: Path, subtasks: tuple[str, ...], tests: tuple[str, ...], faults: Faults
) -> dict[str, tuple[str, ...]] | None:
    """Return the tests of each subtask, from lines `subtask test`."""
    try:
        text = (folder / _MAPPING).read_text(encoding="utf-8-sig", errors="replace")
    except FileNotFoundError:
        faults.add("missing file", _MAPPING, remedy="Generate the tests (tps gen); it is written with them")
        return None
    found: dict[str, dict[str, None]] = {}
    for row, line in enumerate(text.splitlines(), 1):
        words = line.split()
        if words and _line_is_sound(words, row, subtasks, tests, faults):
            found.setdefault(words[0], {})[words[1]] = None
    return {name: tuple(of_it) for name, of_it in found.items()}


def _line_is_sound(
    words: list[str], row: int, subtasks: tuple[str, ...], tests: tuple[str, ...], faults: Faults
) -> bool:
    if len(words) != 2:
        faults.add(f"{len(words)} words", _MAPPING, row=row, remedy="Expected a subtask and a test")
        return False
    for name, names, kind in ((words[0], subtasks, "subtask"), (words[1], tests, "test")):
        if name not in names:
            faults.add(f"unknown {kind} {name!r}", _MAPPING, row=row, remedy=nearest(name, names))
            return False
    return True


# --- solutions ---------------------------------------------------------------------------------------


def _solutions(
    folder: Path, task: TaskType, tests: tuple[str, ...], subtasks: tuple[str, ...], faults: Faults
) -> tuple[Solution, ...]:
    if not (folder / _SOLUTIONS).exists():
        faults.note("missing: nothing is known of what its solutions should score", _SOLUTIONS)
        return ()
    values = read_mapping(folder, _SOLUTIONS, faults)
    listed = Fields(values or {}, _SOLUTIONS, faults)
    found = (_solution(folder, name, listed, task, tests, faults) for name in listed.values)
    read = [reading for reading in found if reading is not None]
    for reading in read:
        for subtask in reading.exceptions:
            if subtask not in subtasks:
                exceptions = listed.inner(reading.name).inner("except")
                exceptions.fault(subtask, "there is no such subtask", nearest(subtask, subtasks))
    return tuple(read)


def _solution(
    folder: Path, name: str, listed: Fields, task: TaskType, tests: tuple[str, ...], faults: Faults
) -> Solution | None:
    fields = listed.inner(name)
    if not isinstance(listed.values[name], dict | None):
        return None  # noted
    if not name.isprintable() or not leads_inside(name):
        faults.add(f"{name!r} is no name of a solution", _SOLUTIONS, remedy="Name a file in solution/")
        return None
    refuse_misspelt(fields, ("verdict", "except"))
    path = folder / "solution" / name
    if path.is_dir() and task is TaskType.OUTPUT_ONLY:
        source, outputs = None, outputs_of(path, tests)
    elif not path.is_file():
        faults.add("missing file", f"solution/{name}", remedy=f"Add it or take it out of {_SOLUTIONS}")
        return None
    elif language_of(name) is None or task is TaskType.OUTPUT_ONLY:
        faults.note("left out: not a source in a known language, nor a folder of outputs", f"solution/{name}")
        return None
    else:
        source, outputs = path, ()
    exceptions = fields.inner("except")
    return solution(
        source,
        name=name,
        expected=fields.text("verdict"),
        exceptions={subtask: exceptions.text(subtask) for subtask in exceptions.values},
        each_subtask=True,
        outputs=outputs,
    )
