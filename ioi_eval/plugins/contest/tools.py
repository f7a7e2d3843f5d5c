"""The tools `run`, `test` and `submit` of a contest: their names, parameters and descriptions for models.

Other modules bind them to a session: `copy_signature` sets the signature of their functions.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine, Iterable, Sequence
from typing import Annotated, Any, TypeVar, get_args, get_type_hints

from msgspec import Meta, Struct

from ioi_eval.model.values import Problem
from ioi_eval.plugins.contest.contest import Session
from ioi_eval.plugins.contest.rules import (
    RunReply,
    SamplesReply,
    SubmissionReply,
    make_problem_for_participants,
)

Tool = Callable[..., Coroutine[Any, Any, Struct]]
AnyCallable = TypeVar("AnyCallable", bound=Callable[..., Any])
ProblemName = Annotated[str, Meta(description="The id of the problem.")]
LanguageName = Annotated[
    str, Meta(description="The language of the program. Default: the problem's default language.")
]
_Code = Annotated[str, Meta(description="The whole source of the program.")]
_Input = Annotated[str, Meta(description="The input that the program reads from standard input.")]
_Outputs = Annotated[
    dict[str, str] | None,
    Meta(
        description="Only for problems that ask for output files: the text"
        " of each file, by the name of its test."
    ),
]


async def run(
    session: Session, problem: ProblemName, code: _Code, language: LanguageName = "", input: _Input = ""
) -> RunReply:
    """Run a program on an input of your own: output, error text, ending, times, memory. No points."""
    return await session.run(problem, code, language, input=input)


async def test(
    session: Session, problem: ProblemName, code: _Code, language: LanguageName = ""
) -> SamplesReply:
    """Run a program on the samples of the problem. No points."""
    return await session.test(problem, code, language)


async def submit(
    session: Session,
    problem: ProblemName,
    code: _Code = "",
    language: LanguageName = "",
    outputs: _Outputs = None,
) -> SubmissionReply:
    """Submit a program for points. The rules say which of several submissions count."""
    return await session.submit(problem, code or None, language, outputs=outputs)


TOOLS: tuple[Tool, ...] = (run, test, submit)


def select_tools(problems: Iterable[Problem]) -> tuple[Tool, ...]:
    """Return the tools for these problems: `run` only if a problem's programs can be run on own inputs."""
    accepts_inputs = any(make_problem_for_participants(problem) is not None for problem in problems)
    return tuple(tool for tool in TOOLS if tool is not run or accepts_inputs)


def make_tool_method(tool: Tool) -> Callable[..., Coroutine[Any, Any, dict[str, Any]]]:
    """Return a tool as a method of a class whose `_call_tool` calls it."""

    async def call(self: Any, *positional: Any, **keywords: Any) -> dict[str, Any]:
        reply: dict[str, Any] = await self._call_tool(tool, *positional, **keywords)
        return reply

    return copy_signature(call, tool, ["self"])


def copy_signature(
    function: AnyCallable, tool: Callable[..., Any], first_parameter_names: Sequence[str]
) -> AnyCallable:
    """Give a function the name, the description and the parameters of a tool, and return the function.

    The docstring has `Args:`, for programs that read descriptions there.

    Args:
        function: The function that is called instead of the tool.
        tool: A function of TOOLS.
        first_parameter_names: Names of the first parameters, which replace `session` and `problem`.
    """
    types_by_name, descriptions = get_type_hints(tool), read_parameter_descriptions(tool)
    parameters = [
        parameter.replace(annotation=types_by_name[parameter.name])
        for parameter in inspect.signature(tool).parameters.values()
        if parameter.name not in ("session", "problem")
    ]
    first_parameters = [
        inspect.Parameter(
            name, inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=types_by_name.get(name, Any)
        )
        for name in first_parameter_names
    ]
    argument_lines = [f"    {parameter.name}: {descriptions[parameter.name]}" for parameter in parameters]
    function.__name__ = function.__qualname__ = tool.__name__
    function.__doc__ = "\n".join([tool.__doc__ or "", "", "Args:", *argument_lines])
    annotations_by_name = {
        parameter.name: parameter.annotation
        for parameter in (*first_parameters, *parameters)
        if parameter.name != "self"
    }
    function.__annotations__ = {**annotations_by_name, "return": dict[str, Any]}
    function.__dict__["__signature__"] = inspect.Signature(
        [*first_parameters, *parameters], return_annotation=dict[str, Any]
    )
    return function


def read_parameter_descriptions(tool: Callable[..., Any]) -> dict[str, str]:
    """Return the description of each parameter of a tool."""
    return {
        name: annotation.description or ""
        for name, hint in get_type_hints(tool, include_extras=True).items()
        for annotation in get_args(hint)[1:]
        if isinstance(annotation, Meta)
    }
