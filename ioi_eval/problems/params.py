"""The task type's parameters of a package: an object, a list, or either of them as a text."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from ioi_eval.models import TaskOptions, TaskType
from ioi_eval.problems.fields import Faults, Fields, parse_json

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
            return _batch_options(params, task, has_grader)
        case TaskType.COMMUNICATION:
            return _communication_options(params, has_grader)
        case TaskType.TWO_STEPS:
            return TaskOptions(with_grader=True)
        case TaskType.INTERACTIVE:
            return TaskOptions(with_grader=has_grader, manager_args=_arguments(params))
        case TaskType.FUNCTION:
            return TaskOptions(function=_function(params))
    return TaskOptions()


def _batch_options(params: Fields, task: TaskType, has_grader: bool) -> TaskOptions:
    usual = Compilation.GRADER if has_grader else Compilation.ALONE
    return TaskOptions(
        with_grader=params.word("compilation", Compilation, usual) is Compilation.GRADER,
        input_file=_file_name(params, "inputfile"),
        output_file=_file_name(params, "outputfile"),
        output_tests=_output_tests(params) if task is TaskType.BATCH_AND_OUTPUT else (),
    )


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
    except (ValueError, RecursionError) as error:
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
