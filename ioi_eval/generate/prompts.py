"""Prompts: a template for each benchmark, or the user's own, filled with what a problem says of itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jinja2

from ioi_eval.model.errors import InputError
from ioi_eval.model.languages import find
from ioi_eval.model.values import Problem, TaskType

_SUFFIX = ".md.j2"
_DEFAULT = "default"
_FOLDER = Path(__file__).parent / "templates"
# What a template that asks for what is not there, or for what cannot be done, ends in.
_UNFILLED = (jinja2.TemplateError, TypeError, ValueError, ArithmeticError, LookupError, AttributeError)


class Prompts:
    """Fills one template: the user's (a file, or one of ours), else the benchmark's, else the general one.

    `file`: where an agent is to leave its program. A model is asked for a fenced block.
    """

    def __init__(
        self, template: str = "", *, benchmark: str = "", language: str = "c++", file: str = ""
    ) -> None:
        self._language, self._file = find(language), file
        environment = jinja2.Environment(
            loader=jinja2.FileSystemLoader(_FOLDER, encoding="utf-8"),
            undefined=jinja2.StrictUndefined,
            autoescape=False,  # what a model reads is no HTML
            trim_blocks=True,
            lstrip_blocks=True,
        )
        ours = sorted(path.name.removesuffix(_SUFFIX) for path in _FOLDER.glob(f"[!_]*{_SUFFIX}"))
        if template in ours or not template:
            name = template or (benchmark if benchmark in ours else _DEFAULT)
            self._where, self._template = name, environment.get_template(f"{name}{_SUFFIX}")
        else:
            self._where, self._template = template, _own(environment, Path(template), ours)

    def __call__(self, problem: Problem) -> str:
        if problem.statement is None:
            raise InputError(
                f"problem {problem.id!r} has no statement, so nobody can be asked to solve it",
                where=problem.source or problem.id,
                remedy="Choose problems of a benchmark, which bring theirs",
            )
        try:
            return self._template.render(self._words(problem)).strip() + "\n"
        except _UNFILLED as error:
            raise InputError(f"the template cannot be filled: {error}", where=self._where) from error

    def _words(self, problem: Problem) -> dict[str, Any]:
        assert problem.statement is not None
        limits = problem.limits
        return {
            "problem": problem,
            "statement": problem.statement.read().decode(errors="replace").strip(),
            "language": self._language.name,
            "file": self._file,
            "tag": "python" if self._language.syntax == "python" else "cpp",
            "seconds": limits.cpu_time,
            "megabytes": None if limits.memory is None else limits.memory >> 20,
            "starter_code": problem.starter_code.strip(),
            "function": problem.options.function if problem.task_type is TaskType.FUNCTION else "",
            "input_file": problem.options.input_file,
            "output_file": problem.options.output_file,
            "with_grader": problem.options.with_grader or problem.task_type is TaskType.COMMUNICATION,
        }


def _own(environment: jinja2.Environment, path: Path, ours: list[str]) -> jinja2.Template:
    try:
        return environment.from_string(path.read_text(encoding="utf-8"))
    except OSError as error:
        remedy = f"Name a file, or one of {', '.join(ours)}"
        raise InputError(
            f"cannot be read ({error.strerror or error})", where=str(path), remedy=remedy
        ) from error
    except (jinja2.TemplateError, UnicodeDecodeError) as error:
        raise InputError(f"is no template: {error}", where=str(path)) from error
