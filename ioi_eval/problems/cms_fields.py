"""Fields of packages for the contest system that say much in little: a task's parameters, and its subtasks.

Parameters are an object, a list, or either of them as a text. Subtasks have points, a way of scoring, tests.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple

from ioi_eval.model.errors import InputError
from ioi_eval.model.values import ScoreType, Subtask, TaskOptions, TaskType
from ioi_eval.problems.fields import Faults, Fields, nearest, parse_json, read_object
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


class Compilation(StrEnum):
    ALONE = "alone"
    GRADER = "grader"


class StubCompilation(StrEnum):
    ALONE = "alone"
    STUB = "stub"


class UserIo(StrEnum):
    STD_IO = "std_io"
    FIFO_IO = "fifo_io"


class OutputEval(StrEnum):
    DIFF = "diff"
    COMPARATOR = "comparator"


def read_params(header: Fields, task: TaskType, faults: Faults, field: str = _FIELD) -> Fields:
    """The parameters under their plain names: compilation, inputfile, output_eval, num_processes, ..."""
    value = _parsed(header, field)
    if isinstance(value, list):
        named = _from_list(value, task)
    elif isinstance(value, dict):
        named = _from_object(value, task)
    else:
        header.fault(field, "neither an object nor a list", "Give it as the contest system exports it")
        named = {}
    return Fields(named, header.file, faults, prefix=f"{field}.")


def read_options(params: Fields, task: TaskType, has_grader: bool) -> TaskOptions:
    """The options of a task type. Where nothing is said, a grader that is there is meant to be used."""
    match task:
        case TaskType.BATCH | TaskType.BATCH_AND_OUTPUT:
            usual = Compilation.GRADER if has_grader else Compilation.ALONE
            return TaskOptions(
                with_grader=params.word("compilation", Compilation, usual) is Compilation.GRADER,
                input_file=_file_name(params, "inputfile"),
                output_file=_file_name(params, "outputfile"),
                output_tests=_output_tests(params) if task is TaskType.BATCH_AND_OUTPUT else (),
            )
        case TaskType.COMMUNICATION:
            return _communication_options(params, has_grader)
        case TaskType.TWO_STEPS:
            return TaskOptions(with_grader=True)
        case TaskType.INTERACTIVE:
            return TaskOptions(with_grader=has_grader, manager_args=_arguments(params))
        case TaskType.FUNCTION:
            return TaskOptions(function=_function(params))
    return TaskOptions()


def _communication_options(params: Fields, has_stub: bool) -> TaskOptions:
    usual = StubCompilation.STUB if has_stub else StubCompilation.ALONE
    return TaskOptions(
        with_grader=params.word("compilation", StubCompilation, usual) is StubCompilation.STUB,
        processes=params.whole("num_processes", 1, least=1, most=100),
        user_io=params.word("user_io", UserIo, UserIo.STD_IO).value,
        manager_args=_arguments(params),
    )


def read_output_eval(params: Fields) -> OutputEval | None:
    return params.word("output_eval", OutputEval) if params.has("output_eval") else None


def _parsed(header: Fields, field: str) -> Any:
    value = header.values.get(field)
    if not isinstance(value, str):
        return {} if value is None else value
    try:
        return parse_json(value) if value.strip() else {}
    except ValueError as error:
        header.fault(field, f"broken JSON in the text: {error}", "Correct it in the file")
        return {}


def _from_list(values: list[Any], task: TaskType) -> dict[str, Any]:
    named = dict(zip(_PLACES.get(task, ()), values, strict=False))
    files = named.pop("io", None)
    if isinstance(files, list) and len(files) == 2:
        named["inputfile"], named["outputfile"] = files
    elif files is not None:
        named["inputfile"] = files  # of a wrong type: noted where it is read
    return named


def _from_object(values: dict[str, Any], task: TaskType) -> dict[str, Any]:
    prefix = f"task_type_parameters_{task}_"
    plain = {name.removeprefix(prefix): value for name, value in values.items()}
    return {_ALIASES.get(name, name): value for name, value in plain.items()}


def _file_name(params: Fields, name: str) -> str:
    value = params.text(name, "")
    if value and not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]*", value):
        params.fault(
            name, f"{value!r} is not a plain file name", "Give a name such as input.txt, or leave it empty"
        )
        return ""
    return value


def _output_tests(params: Fields) -> tuple[str, ...]:
    """Names with commas between them, or a list of names."""
    if isinstance(params.values.get("output_only_testcases"), list):
        return params.texts("output_only_testcases")
    names = params.text("output_only_testcases", "").split(",")
    return tuple(name.strip() for name in names if name.strip())


def _function(params: Fields) -> str:
    name = params.text("function")
    if name and not all(word.isidentifier() for word in name.split(".")):
        params.fault("function", f"{name!r} is not the name of a function", "Give a name, or Class.method")
    return name


def _arguments(params: Fields) -> tuple[str, ...]:
    if isinstance(params.values.get("manager_args"), list):
        return params.texts("manager_args")
    text = params.text("manager_args", "")
    try:
        return split_arguments(text)
    except ValueError as error:
        params.fault("manager_args", f"{text!r} is not a list of arguments ({error})", "Close the quotes")
        return ()


def split_arguments(text: str) -> tuple[str, ...]:
    """As a shell would split them; ValueError where quotes are left open."""
    return tuple(shlex.split(text))


_PARAMETERS = "score_type_parameters"
_MISSING = "Give a list of names, a regular expression or a count"


class _Group(NamedTuple):
    """A group as it was written, with the place where its tests stand."""

    name: str
    fields: Fields
    tests_field: str
    points: float
    score_type: ScoreType
    threshold: float
    tests: Any


def read_subtasks(
    folder: Path, header: Fields, tests: tuple[str, ...], faults: Faults
) -> tuple[Subtask, ...]:
    """The subtasks' files in their order, or the score type's parameters where there are none."""
    usual = header.word("score_type", ScoreType, ScoreType.GROUP_MIN)
    threshold = header.number("threshold", 1.0, above=0)
    groups = _from_files(folder, usual, threshold, faults)
    if header.has(_PARAMETERS):
        if groups:
            header.fault(_PARAMETERS, "there are subtasks in files as well", "Keep one of the two")
        groups = _from_parameters(header, usual, threshold, tests)
    chosen = _chosen(groups, tests)
    return tuple(
        Subtask(
            name=group.name,
            points=group.points,
            tests=names,
            score_type=group.score_type,
            threshold=group.threshold,
        )
        for group, names in zip(groups, chosen, strict=True)
    )


# --- as written --------------------------------------------------------------------------------------


def _from_files(folder: Path, usual: ScoreType, threshold: float, faults: Faults) -> list[_Group]:
    groups = []
    for path in sorted((folder / "subtasks").glob("*.json")):
        file = f"subtasks/{path.name}"
        values = None if path.name.startswith(".") else read_object(folder, file, faults)
        if values is not None:
            groups.append(_from_file(path.stem, Fields(values, file, faults), usual, threshold))
    return groups


def _from_file(name: str, fields: Fields, usual: ScoreType, threshold: float) -> _Group:
    if fields.values.get("testcases") is None:
        fields.fault("testcases", "missing", _MISSING)
    return _Group(
        name=name,
        fields=fields,
        tests_field="testcases",
        points=fields.number("score"),
        score_type=fields.word("score_type", ScoreType, usual),
        threshold=fields.number("threshold", threshold, above=0),
        tests=fields.values.get("testcases"),
    )


def _from_parameters(
    header: Fields, usual: ScoreType, threshold: float, tests: tuple[str, ...]
) -> list[_Group]:
    """[[points, tests], ...], with a threshold as a third; or a number, what each test of a sum is worth."""
    value = _parameters(header)
    if usual is ScoreType.SUM and isinstance(value, int | float):
        points = header.number(_PARAMETERS) * len(tests)
        return [_Group("all", header, _PARAMETERS, points, usual, threshold, ".*" if tests else None)]
    if not isinstance(value, list) or not all(isinstance(row, list) and len(row) in (2, 3) for row in value):
        header.fault(_PARAMETERS, "not a list of [points, tests]", "Give it as the contest system has it")
        return []
    return [_from_row(index, row, header, usual, threshold) for index, row in enumerate(value, 1)]


def _parameters(header: Fields) -> Any:
    value = header.values[_PARAMETERS]
    if not isinstance(value, str):
        return value
    try:
        return parse_json(value)
    except ValueError:
        return None


def _from_row(index: int, row: list[Any], header: Fields, usual: ScoreType, threshold: float) -> _Group:
    place = f"{_PARAMETERS}.{index}"
    names = ("points", "tests", "threshold")
    fields = header.under(place, dict(zip(names, row, strict=False)))
    if row[1] is None:
        fields.fault("tests", "missing", _MISSING)
    return _Group(
        name=str(index),
        fields=fields,
        tests_field="tests",
        points=fields.number("points"),
        score_type=usual,
        threshold=fields.number("threshold", threshold, above=0),
        tests=row[1],
    )


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
