"""Tasks for evaluators: problems by words, their prompts, and judges of replies.

What reads problems and what judges is loaded when the first is asked for: importing this is cheap.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args, get_origin

from msgspec import ValidationError, convert
from msgspec.structs import fields

from ioi_eval import JudgeOptions
from ioi_eval.errors import EngineError, InputError, JudgeFailure, ProgramBroken
from ioi_eval.model.options import AllTests, Interpreter, Said, Slots
from ioi_eval.models import Problem, Value
from ioi_eval.scoring import Language, choose_language, find_language

if TYPE_CHECKING:
    from ioi_eval.integrations.runtime import Runtime
    from ioi_eval.runs import BenchmarkOptions
    from ioi_eval.sources import Benchmark, Problems

NO_ANSWER = (JudgeFailure, EngineError, ProgramBroken)  # the judge's fault, never a score


class JudgingOptions(Value):
    """The options that decide how a reply is judged."""

    language: Annotated[
        str,
        Said(
            "The language of the programs: the prompt asks for it, and replies are read as that.",
            unset="the problem's, if it admits one only; the benchmark's own; C++",
        ),
    ] = ""
    unscored: Annotated[
        Literal["keep", "error"],
        Said("What becomes of a sample that cannot be judged; `error`: an error of the sample, see below."),
    ] = "keep"
    slots: Annotated[Slots, Said(unset="all slots of the machine or the servers")] = None
    python: Annotated[Interpreter, Said(unset="see [integrations](integrations.md#which-python)")] = ""
    all_tests: AllTests = False


class Asked(Value):
    """The problems of a source, as options choose them, and how replies to them are judged."""

    source: str
    problems: Problems
    judging: JudgingOptions
    default_language: str
    benchmark: Benchmark | None  # None: these are packages

    @property
    def name(self) -> str:
        return "" if self.benchmark is None else self.benchmark.name

    def runtime(self) -> Runtime:
        from ioi_eval.integrations.runtime import Setup, runtime

        options = JudgeOptions(all_tests=self.judging.all_tests)
        return runtime(
            Setup(
                slots=self.judging.slots,
                options=options,
                python=self.judging.python,
                packages=self.problems.packages,
            )
        )

    def language(self, problem: Problem) -> Language:
        """The language that a model is asked for; its reply is read as that, whatever its fences say."""
        language = choose_language(problem, option=self.judging.language, default=self.default_language)
        return find_language(language.language)

    def prompts(self, template: str = "") -> Iterator[tuple[str, Problem, str]]:
        """Label, problem and prompt of each that can be judged."""
        from ioi_eval.sources import Prompts  # loads jinja2, which a scorer alone does not need

        usable = {label: problem for label, problem in self.problems.items() if not problem.unusable}
        if not usable:
            remedy = "Give fewer filters"
            raise InputError("the filters leave no problem", where=self.source, remedy=remedy)
        spoken = {label: self.language(problem).name for label, problem in usable.items()}
        ask = {
            name: Prompts(template, benchmark=self.name, language=name)
            for name in dict.fromkeys(spoken.values())
        }
        return ((label, problem, ask[spoken[label]](problem)) for label, problem in usable.items())

    @property
    def left_out(self) -> dict[str, int]:
        """The number of problems that no model is asked to solve, by reason."""
        unusable = (problem.unusable for problem in self.problems.values())
        return {**self.problems.left_out, **Counter(filter(None, unusable))}


def asked_for(source: str, options: Mapping[str, Any]) -> Asked:
    """`source` names a benchmark or packages; `options` are fields of Judging and of BenchmarkOptions."""
    from ioi_eval.sources import benchmark_of, language_of

    judging, choice = _told(options)
    if judging.language:
        find_language(judging.language)
    return Asked(
        source=source,
        problems=_open(source, choice),
        judging=judging,
        default_language=language_of(source),
        benchmark=benchmark_of(source),
    )


@cache
def _open(source: str, choice: BenchmarkOptions) -> Problems:
    """Open for as long as the process lives: samples are judged one by one."""
    from ioi_eval.integrations.runtime import own_store
    from ioi_eval.sources import open_problems

    return open_problems(source, choice, own_store())


def _told(given: Mapping[str, Any]) -> tuple[JudgingOptions, BenchmarkOptions]:
    """Options as a command line or a log has them: one word may stand for a list, a number for a name."""
    from ioi_eval.runs import BenchmarkOptions

    options = {
        kind: {
            field.name: (get_args(field.type)[0] if get_origin(field.type) is Annotated else field.type)
            for field in fields(kind)
        }
        for kind in (JudgingOptions, BenchmarkOptions)
    }
    names = tuple(name for types in options.values() for name in types)
    for name in given:
        if name not in names:
            close = get_close_matches(name, names, cutoff=0.5)
            meant = f"Did you mean {' or '.join(map(repr, close))}?"
            remedy = meant if close else f"The options are {', '.join(names)}"
            raise InputError(f"no such option: {name!r}", remedy=remedy)
    judging, choice = (
        {name: _fitting(types[name], value) for name, value in given.items() if name in types}
        for types in options.values()
    )
    try:
        return convert(judging, JudgingOptions, strict=False), convert(choice, BenchmarkOptions, strict=False)
    except ValidationError as error:
        raise InputError(f"an option that cannot be used: {error}") from error


def _fitting(kind: Any, value: Any) -> Any:
    if kind is str:
        return str(value)
    if kind == tuple[str, ...] | None:
        from ioi_eval.sources import read_packages

        return read_packages(value if isinstance(value, str) else ",".join(value))
    if kind not in (frozenset[str], frozenset[int]):
        return value
    values = value if isinstance(value, list | tuple | set | frozenset) else [value]
    return [str(value) for value in values] if kind == frozenset[str] else list(values)
