"""Fields of packages for the contest system that say much in little: a task's parameters, and its subtasks.

Parameters are an object, a list, or either of them as a text. Subtasks have points, a way of scoring, tests.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from msgspec.structs import replace

from ioi_eval.model.errors import InputError
from ioi_eval.model.values import ScoreType, Subtask, TaskOptions, TaskType
from ioi_eval.problems.fields import Faults, Fields, nearest, parse_json, read_mapping
from ioi_eval.problems.package import is_plain, visible
from ioi_eval.rules.plan import Selector, group_tests

_FIELD = "task_type_params"
_IO = {"io_0_inputfile": "inputfile", "io_1_outputfile": "outputfile"}
_ALIASES = {"input_filename": "inputfile", "output_filename": "outputfile", **_IO}
_BATCH = ("compilation", "io", "output_eval")
# The meaning of a list's places, per task type. `io` is a pair of file names.
_PLACES: Mapping[TaskType, tuple[str, ...]] = {
    TaskType.BATCH: _BATCH,
    TaskType.BATCH_AND_OUTPUT: (*_BATCH, "output_only_testcases"),
    TaskType.COMMUNICATION: ("num_processes", "compilation", "user_io"),
    TaskType.OUTPUT_ONLY: ("output_eval",),
    TaskType.TWO_STEPS: ("output_eval",),
}


STD_IO, FIFO_IO = USER_IO = ("std_io", "fifo_io")
DIFF, COMPARATOR = _OUTPUT_EVALS = ("diff", "comparator")


def read_params(header: Fields, task: TaskType, faults: Faults, field: str = _FIELD) -> Fields:
    """The parameters under their plain names: compilation, inputfile, output_eval, num_processes, ..."""
    value = _parsed(header, field)
    named: dict[str, Any] = {}
    if isinstance(value, list):
        named = dict(zip(_PLACES.get(task, ()), value, strict=False))
        files = named.pop("io", None)
        if isinstance(files, list) and len(files) == 2:
            named["inputfile"], named["outputfile"] = files
        elif files is not None:
            named["inputfile"] = files  # of a wrong type: noted where it is read
    elif isinstance(value, dict):
        prefix = f"task_type_parameters_{task}_"
        plain = {name.removeprefix(prefix): said for name, said in value.items()}
        named = {_ALIASES.get(name, name): said for name, said in plain.items()}
    elif value is not None:
        header.fault(field, "neither an object nor a list", "Give it as the contest system exports it")
    return Fields(named, header.file, faults, prefix=f"{field}.")


def read_options(params: Fields, task: TaskType, has_grader: bool) -> TaskOptions:
    """The options of a task type. Where nothing is said, a grader that is there is meant to be used."""
    match task:
        case TaskType.BATCH | TaskType.BATCH_AND_OUTPUT:
            by_file = task is TaskType.BATCH_AND_OUTPUT
            return TaskOptions(
                with_grader=_compilation(params, "grader", has_grader),
                input_file=file_name(params, "inputfile"),
                output_file=file_name(params, "outputfile"),
                output_tests=_list(params, "output_only_testcases", _at_commas) if by_file else (),
            )
        case TaskType.COMMUNICATION:
            return TaskOptions(
                with_grader=_compilation(params, "stub", has_grader),
                processes=params.whole("num_processes", 1, least=1, most=100),
                user_io=params.choice("user_io", USER_IO, STD_IO),
                manager_args=_list(params, "manager_args", shlex.split),
            )
        case TaskType.TWO_STEPS:
            return TaskOptions(with_grader=True)
        case TaskType.INTERACTIVE:
            return TaskOptions(
                with_grader=has_grader, manager_args=_list(params, "manager_args", shlex.split)
            )
        case TaskType.FUNCTION:
            return TaskOptions(function=_function(params))
    return TaskOptions()


def read_output_eval(params: Fields) -> str | None:
    return params.choice("output_eval", _OUTPUT_EVALS) if params.has("output_eval") else None


def _compilation(params: Fields, together: str, has_grader: bool) -> bool:
    usual = together if has_grader else "alone"
    return params.choice("compilation", ("alone", together), usual) == together


def _parsed(header: Fields, field: str) -> Any:
    """Its value, also where it is written as a text; None where there is none, or none that can be read."""
    value = header.values.get(field)
    if not isinstance(value, str):
        return value
    try:
        return parse_json(value) if value.strip() else None
    except ValueError as error:
        header.fault(field, f"broken JSON in the text: {error}", "Correct it in the file")
        return None


def file_name(params: Fields, name: str, default: str = "") -> str:
    value = params.text(name, default)
    if value and not is_plain(value):
        params.fault(
            name, f"{value!r} is not a plain file name", "Give a name such as input.txt, or leave it empty"
        )
        return ""
    return value


def _list(params: Fields, name: str, split: Callable[[str], Sequence[str]]) -> tuple[str, ...]:
    """A list of texts, or one text that is split."""
    if isinstance(params.values.get(name), list):
        return params.texts(name)
    text = params.text(name, "")
    try:
        return tuple(split(text))
    except ValueError as error:
        params.fault(name, f"{text!r} is not a list of arguments ({error})", "Close the quotes")
        return ()


def _at_commas(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _function(params: Fields) -> str:
    name = params.text("function")
    if name and not all(word.isidentifier() for word in name.split(".")):
        params.fault("function", f"{name!r} is not the name of a function", "Give a name, or Class.method")
    return name


_PARAMETERS = "score_type_parameters"
_MISSING = "Give a list of names, a regular expression or a count"


class _Group(NamedTuple):
    """A subtask whose tests are not chosen yet, and the field that says which they are."""

    subtask: Subtask
    fields: Fields
    tests_field: str

    @property
    def tests(self) -> Any:
        return self.fields.values.get(self.tests_field)


def read_subtasks(
    folder: Path, header: Fields, tests: tuple[str, ...], faults: Faults
) -> tuple[Subtask, ...]:
    """The subtasks' files in their order, or the score type's parameters where there are none."""
    score_type = header.word("score_type", ScoreType, ScoreType.GROUP_MIN)
    threshold = header.number("threshold", 1.0, above=0)
    usual = Subtask(name="all", points=0.0, tests=(), score_type=score_type, threshold=threshold)
    groups = _from_files(folder, usual, faults)
    if header.has(_PARAMETERS):
        if groups:
            header.fault(_PARAMETERS, "there are subtasks in files as well", "Keep one of the two")
        groups = _from_parameters(header, usual, len(tests))
    chosen = _chosen(groups, tests)
    return tuple(replace(group.subtask, tests=names) for group, names in zip(groups, chosen, strict=True))


# --- as written --------------------------------------------------------------------------------------


def _from_files(folder: Path, usual: Subtask, faults: Faults) -> list[_Group]:
    groups = []
    for path in visible((folder / "subtasks").glob("*.json")):
        file = f"subtasks/{path.name}"
        values = read_mapping(folder, file, faults)
        if values is not None:
            fields = Fields(values, file, faults)
            groups.append(_group(path.stem, fields, usual, "score", "testcases"))
    return groups


def _from_parameters(header: Fields, usual: Subtask, tests: int) -> list[_Group]:
    """[[points, tests], ...], with a threshold as a third; or a number, what each test of a sum is worth."""
    value = _parsed(header, _PARAMETERS)
    if usual.score_type is ScoreType.SUM and isinstance(value, int | float):
        every = header.under(_PARAMETERS, {"tests": ".*"} if tests else {})
        return [_Group(replace(usual, points=header.number(_PARAMETERS) * tests), every, "tests")]
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(row, list) and len(row) in (2, 3) for row in value):
        header.fault(_PARAMETERS, "not a list of [points, tests]", "Give it as the contest system has it")
        return []
    names = ("points", "tests", "threshold")
    rows = (dict(zip(names, row, strict=False)) for row in value)
    return [
        _group(str(index), header.under(f"{_PARAMETERS}.{index}", row), usual, "points", "tests")
        for index, row in enumerate(rows, 1)
    ]


def _group(name: str, fields: Fields, usual: Subtask, points: str, tests: str) -> _Group:
    if fields.values.get(tests) is None:
        fields.fault(tests, "missing", _MISSING)
    subtask = replace(
        usual,
        name=name,
        points=fields.number(points),
        score_type=fields.word("score_type", ScoreType, usual.score_type),
        threshold=fields.number("threshold", usual.threshold, above=0),
    )
    return _Group(subtask, fields, tests)


# --- which tests -------------------------------------------------------------------------------------


def _chosen(groups: Sequence[_Group], tests: tuple[str, ...]) -> list[tuple[str, ...]]:
    if any(_is_count(group.tests) for group in groups):
        return _by_count(groups, tests)
    return [_by_name(group, tests) for group in groups]


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _by_count(groups: Sequence[_Group], tests: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Groups of the next so many tests: only all together can they be told which."""
    for group in groups:
        if not _is_count(group.tests) or group.tests < 1:
            group.fields.fault(group.tests_field, "not a count from 1, as others are", _MISSING)
            return [() for _ in groups]
    counts: list[Selector] = [group.tests for group in groups]
    try:
        return list(group_tests(tests, counts))
    except InputError as error:
        groups[-1].fields.fault(groups[-1].tests_field, error.problem, "Count the tests again")
        return [() for _ in groups]


def _by_name(group: _Group, tests: tuple[str, ...]) -> tuple[str, ...]:
    if isinstance(group.tests, str):
        try:
            return group_tests(tests, [group.tests])[0]
        except InputError as error:
            group.fields.fault(
                group.tests_field, error.problem, "It must match from the start of the tests' names"
            )
            return ()
    if group.tests is None:
        return ()  # noted already
    names = group.fields.texts(group.tests_field)
    if not names and group.tests == []:
        group.fields.fault(group.tests_field, "no tests", "List the subtask's tests, or remove this file")
    known = set(tests)
    for name in dict.fromkeys(names):
        if name not in known:
            group.fields.fault(
                group.tests_field, f"names the test {name!r}, which is not in tests/", nearest(name, tests)
            )
        elif names.count(name) > 1:
            group.fields.fault(group.tests_field, f"names the test {name!r} more than once", "Name it once")
    return names
