"""Read packages of the IOI's task preparation system (TPS). Their tests must be generated already.

Graders get the names that they have in an export for CMS: grader/cpp/<grader_name>.cpp is compiled with a
submission, grader/py/<grader_name>.py imports the submission, and grader/manager.cpp is the manager.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from msgspec.structs import replace

from ioi_eval.model.fields import Faults, Fields, suggest_names
from ioi_eval.model.values import (
    Checker,
    CheckerKind,
    Limits,
    NamedBlob,
    Problem,
    Solution,
    Subtask,
    TaskOptions,
    TaskType,
)
from ioi_eval.problems.cms import (
    DEFAULT_IO_NOTE,
    STD_IO,
    USER_IO,
    ManagerKeys,
    add_checker_sources,
    exclude_unimportable_python_grader,
    find_manager,
    read_options,
    read_params,
)
from ioi_eval.problems.keys import (
    MIB,
    Keys,
    choice_key,
    enum_key,
    flag_key,
    integer_key,
    memory_key,
    number_key,
    raw_key,
    seconds_key,
    text_key,
)
from ioi_eval.problems.names import stays_in_folder
from ioi_eval.problems.package import (
    DeclaredFormat,
    find_first_by_stem,
    language_of,
    list_files,
    make_solution,
    read_mapping_file,
    read_output_files,
    read_tests_folder,
)
from ioi_eval.rules.languages import grader_name
from ioi_eval.rules.plan import needs_answers

# Names of the key for the parameters of the task type: in TPS, and in CMS.
_PARAMS = ("type_params", "task_type_params")
_SUBTASKS, _SOLUTIONS, _MAPPING = "subtasks.json", "solutions.json", "tests/mapping"
_TASK_TYPES = (TaskType.BATCH, TaskType.COMMUNICATION, TaskType.OUTPUT_ONLY, TaskType.TWO_STEPS)
_NO_GRADER = frozenset({TaskType.OUTPUT_ONLY})
_NO_CHECKER = frozenset({TaskType.COMMUNICATION})


class TpsHeader(ManagerKeys):
    """The keys of problem.json."""

    id = text_key("the id, of letters, digits, `_`, `-` and `.`", name="name")
    title = text_key("a title", "the id")
    type = enum_key(TaskType, "", members=_TASK_TYPES)
    time_limit = seconds_key(missing_description="refused, except in OutputOnly tasks")
    memory_limit = memory_key("MB", MIB, "", "refused, except in OutputOnly tasks")
    has_grader = flag_key("submissions are compiled with a grader", "true, except in OutputOnly tasks")
    grader_name = text_key("the grader's name without suffix", "`grader`, or `stub` if there is a `stub.cpp`")
    has_checker = flag_key(
        "outputs are compared by a checker", "true if there is one, except in Communication tasks"
    )
    has_manager = raw_key("not used: Communication tasks have a manager", "-")
    type_params = raw_key("the parameters of the task type, as in `problem.json` of CMS", "nothing is set")
    task_type_params = raw_key("the same key", "`type_params`")
    task_type_parameters = raw_key("the same key, as the contest system calls it", "`type_params`")
    num_processes = integer_key("Communication", "as in `type_params`", default=1, minimum=1, maximum=100)
    user_io = choice_key(USER_IO, "Communication", "as in `type_params`", default=STD_IO)
    score_precision = integer_key("digits of a subtask's score", default=2, maximum=9)


class SubtaskKeys(Keys):
    """The keys of a subtask in subtasks.json."""

    ignored = ("validators",)
    index = number_key("position of the subtask", default=0.0)
    score = number_key("points")


class SolutionKeys(Keys):
    """The keys of a solution in solutions.json."""

    verdict = text_key("what the solution gets")
    exceptions = raw_key("an object: what it gets in single subtasks", "none", name="except")


class Tps(DeclaredFormat[TpsHeader]):
    """The package format of TPS, recognized by subtasks.json or by `type` in problem.json."""

    name = "TPS"
    header = "problem.json"
    rank = 70
    keys = TpsHeader
    id_field = "name"
    folders = ("checker", "grader", "solution", "tests")

    def looks_like_package(self, folder: Path) -> bool:
        if (folder / _SUBTASKS).exists():
            return True
        header = self.read_header(folder, Faults("")) if super().looks_like_package(folder) else None
        return header is not None and "type" in header and "task_type" not in header

    def read_problem(self, folder: Path, where: str, header: TpsHeader, faults: Faults) -> Problem:
        task = header.type
        graders = _read_graders(folder, header, task)
        checker = _find_checker(folder, header, task)
        options = _read_options(header, task, graders, faults)
        tests = read_tests_folder(folder, needs_answers(task, checker), faults)
        test_names = tuple(test.name for test in tests)
        subtasks = _read_subtasks(folder, test_names, faults)
        problem_id = self.read_id(folder, where, header, faults)
        if options.with_grader:
            graders = exclude_unimportable_python_grader(
                problem_id.lower(), task, graders, faults, "grader/py"
            )
        return Problem(
            id=problem_id,
            name=TpsHeader.title.read(header, problem_id),
            source=where,
            task_type=task,
            options=options,
            limits=Limits()
            if task is TaskType.OUTPUT_ONLY
            else Limits.contest(header.time_limit, header.memory_limit),
            grader_files=graders,
            checker=checker,
            manager=find_manager(header, task, graders, faults, "grader"),
            tests=tests,
            subtasks=subtasks,
            score_precision=header.score_precision,
            solutions=_read_solutions(
                folder, task, test_names, tuple(subtask.name for subtask in subtasks), faults
            ),
        )


# --- problem.json ------------------------------------------------------------------------------------


def _read_options(
    problem_json: TpsHeader, task: TaskType, graders: Sequence[NamedBlob], faults: Faults
) -> TaskOptions:
    """Return the options of the task type. A missing grader is a fault."""
    with_grader = TpsHeader.has_grader.read(problem_json, task not in _NO_GRADER)
    if with_grader and find_first_by_stem(graders, [grader_name(task)]) is None:
        missing_file = f"grader/cpp/{TpsHeader.grader_name.read(problem_json, 'grader')}.cpp"
        faults.report(
            "missing file", missing_file, remedy="Add it, or set has_grader to false in problem.json"
        )
    type_params = read_params(problem_json, task, faults, _find_parameters_key(problem_json))
    options = replace(read_options(type_params, task, with_grader), with_grader=with_grader)
    if task is not TaskType.COMMUNICATION:
        return options
    if with_grader and not type_params.has_field("user_io") and not problem_json.has_field("user_io"):
        faults.add_note(DEFAULT_IO_NOTE, Tps.header)
    return replace(  # keys of problem.json override the parameters
        options,
        processes=TpsHeader.num_processes.read(problem_json, options.processes),
        user_io=TpsHeader.user_io.read(problem_json, options.user_io),
    )


def _find_parameters_key(problem_json: TpsHeader) -> str:
    """Return the key that holds the parameters. Two keys with different values are a fault."""
    existing_keys = [key for key in _PARAMS if problem_json.has_field(key)]
    if (
        len(existing_keys) == 2
        and problem_json.values[existing_keys[0]] != problem_json.values[existing_keys[1]]
    ):
        problem_json.report_fault(
            existing_keys[1],
            f"differs from {existing_keys[0]}",
            f"Remove {existing_keys[0]} or {existing_keys[1]}",
        )
    return existing_keys[0] if existing_keys else _PARAMS[0]


# --- programs ----------------------------------------------------------------------------------------


def _read_graders(folder: Path, problem_json: TpsHeader, task: TaskType) -> tuple[NamedBlob, ...]:
    """Return the files in grader/cpp, grader/c and grader/py, and files such as the manager in grader/.

    They get the names that the judge expects. If files have the same name, the order above decides.
    """
    files = list_files(folder, "grader")
    content_by_name = {
        f"graders/{file.name.removeprefix(prefix)}": file.content
        # If several files have the same name, the last file is used.
        for prefix in ("grader/", "grader/py/", "grader/c/", "grader/cpp/")
        for file in files
        if file.name.startswith(prefix) and (prefix != "grader/" or len(PurePosixPath(file.name).parts) == 2)
    }
    has_stub = task is TaskType.COMMUNICATION and (folder / "grader/cpp/stub.cpp").is_file()
    package_name = TpsHeader.grader_name.read(problem_json, "stub" if has_stub else "grader")
    for suffix in (".cpp", ".c", ".py"):
        # Give the package's grader the name that the judge expects.
        grader_content = content_by_name.pop(f"graders/{package_name}{suffix}", None)
        expected_name = f"{grader_name(task)}{suffix}"
        if grader_content is not None:
            content_by_name[expected_name] = grader_content
        elif problem_json.has_field("grader_name"):
            # Remove a file with the expected name, because the package names another grader.
            content_by_name.pop(expected_name, None)
    return tuple(NamedBlob(name=name, content=content_by_name[name]) for name in sorted(content_by_name))


def _find_checker(folder: Path, problem_json: TpsHeader, task: TaskType) -> Checker:
    """Return the checker. It prints the score to standard output, as in CMS."""
    if not TpsHeader.has_checker.read(problem_json, task not in _NO_CHECKER):
        return Checker()
    sources = list_files(folder, "checker")
    if not sources and not problem_json.has_field("has_checker"):
        return Checker()
    return add_checker_sources(Checker(kind=CheckerKind.CMS), sources, problem_json, "has_checker", "false")


# --- subtasks ----------------------------------------------------------------------------------------


def _read_subtasks(folder: Path, tests: tuple[str, ...], faults: Faults) -> tuple[Subtask, ...]:
    """Return the subtasks in subtasks.json, sorted by `index`."""
    subtasks_object = read_mapping_file(folder, _SUBTASKS, faults)
    if subtasks_object is None:
        return ()
    subtask_fields = Fields(subtasks_object, _SUBTASKS, faults).read_object("subtasks")
    tests_by_subtask = _read_tests_by_subtask(folder, tuple(subtask_fields.values), tests, faults)
    keys_by_name = {
        name: SubtaskKeys.from_fields(subtask_fields.read_object(name)) for name in subtask_fields.values
    }
    for subtask_keys in keys_by_name.values():
        subtask_keys.check_keys()
    subtasks = list[Subtask]()
    for name, subtask_keys in sorted(keys_by_name.items(), key=lambda pair: pair[1].index):
        subtask_tests = () if tests_by_subtask is None else tests_by_subtask.get(name, ())
        points = subtask_keys.score
        if tests_by_subtask is not None and not subtask_tests and subtask_keys.raw_value("score"):
            subtask_keys.report_fault(
                "score", "a subtask with points has no tests", f"List its tests in {_MAPPING}"
            )
        subtasks.append(Subtask(name=name, points=points, tests=subtask_tests))
    return tuple(subtasks)


def _read_tests_by_subtask(
    folder: Path, subtasks: tuple[str, ...], tests: tuple[str, ...], faults: Faults
) -> dict[str, tuple[str, ...]] | None:
    """Return the tests of each subtask. The lines of tests/mapping are `subtask test`."""
    try:
        mapping_text = (folder / _MAPPING).read_text(encoding="utf-8-sig", errors="replace")
    except FileNotFoundError:
        faults.report(
            "missing file", _MAPPING, remedy="Generate the tests (tps gen); it is written with them"
        )
        return None
    tests_by_subtask: dict[str, dict[str, None]] = {}
    for line_number, line in enumerate(mapping_text.splitlines(), 1):
        line_names = line.split()
        if line_names and _is_valid_mapping_line(line_names, line_number, subtasks, tests, faults):
            tests_by_subtask.setdefault(line_names[0], {})[line_names[1]] = None
    return {subtask_name: tuple(test_names) for subtask_name, test_names in tests_by_subtask.items()}


def _is_valid_mapping_line(
    line_names: list[str], line_number: int, subtasks: tuple[str, ...], tests: tuple[str, ...], faults: Faults
) -> bool:
    """Return True if the line names a subtask and a test that exist. Otherwise report a fault."""
    if len(line_names) != 2:
        faults.report(
            f"{len(line_names)} names", _MAPPING, row=line_number, remedy="Expected a subtask and a test"
        )
        return False
    for name, known_names, kind in ((line_names[0], subtasks, "subtask"), (line_names[1], tests, "test")):
        if name not in known_names:
            faults.report(
                f"unknown {kind} {name!r}", _MAPPING, row=line_number, remedy=suggest_names(name, known_names)
            )
            return False
    return True


# --- solutions ---------------------------------------------------------------------------------------


def _read_solutions(
    folder: Path, task: TaskType, tests: tuple[str, ...], subtasks: tuple[str, ...], faults: Faults
) -> tuple[Solution, ...]:
    """Return the solutions in solutions.json with their expected results."""
    if not (folder / _SOLUTIONS).exists():
        faults.add_note("missing file: no expected results are defined", _SOLUTIONS)
        return ()
    solutions_object = read_mapping_file(folder, _SOLUTIONS, faults)
    solution_fields = Fields(solutions_object or {}, _SOLUTIONS, faults)
    read_solutions = (
        _read_solution(folder, solution_name, solution_fields, task, tests, faults)
        for solution_name in solution_fields.values
    )
    solutions = [solution for solution in read_solutions if solution is not None]
    for solution in solutions:
        for subtask in solution.exceptions:
            if subtask not in subtasks:
                exceptions = solution_fields.read_object(solution.name).read_object("except")
                exceptions.report_fault(subtask, "unknown subtask", suggest_names(subtask, subtasks))
    return tuple(solutions)


def _read_solution(
    folder: Path, name: str, solution_fields: Fields, task: TaskType, tests: tuple[str, ...], faults: Faults
) -> Solution | None:
    """Return a solution, or None after a fault or a note."""
    solution_keys = SolutionKeys.from_fields(solution_fields.read_object(name))
    if not isinstance(solution_fields.values[name], dict | None):
        return None  # already reported
    if not name.isprintable() or not stays_in_folder(name):
        faults.report(
            f"{name!r} is not the name of a solution", _SOLUTIONS, remedy="Name a file in solution/"
        )
        return None
    solution_keys.check_keys()
    solution_path = folder / "solution" / name
    if solution_path.is_dir() and task is TaskType.OUTPUT_ONLY:
        source, outputs = None, read_output_files(solution_path, tests)
    elif not solution_path.is_file():
        faults.report("missing file", f"solution/{name}", remedy=f"Add it or remove it from {_SOLUTIONS}")
        return None
    elif language_of(name) is None or task is TaskType.OUTPUT_ONLY:
        faults.add_note(
            "ignored: neither a source in a supported language nor a folder of outputs", f"solution/{name}"
        )
        return None
    else:
        source, outputs = solution_path, ()
    exceptions = solution_keys.read_object("except")
    return make_solution(
        source,
        name=name,
        expected=solution_keys.verdict,
        exceptions={subtask: exceptions.read_text(subtask) for subtask in exceptions.values},
        each_subtask=True,
        outputs=outputs,
    )
