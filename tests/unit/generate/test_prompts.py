"""The prompts for models."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from ioi_eval.errors import InputError
from ioi_eval.generate import Prompts, fingerprint, make_requests
from ioi_eval.model.languages import LANGUAGES, Language
from ioi_eval.models import Blob, Limits, Problem, Subtask, TaskOptions, TaskType

SUM = Problem(
    id="apps_1",
    difficulty="interview",
    statement=Blob.of("Add {{ them }} & <print>.\n\n"),
    limits=Limits.contest(10, 512 << 20),
)
BUILTIN = ["apps", "codeforces", "ioi", ""]


def changed(**fields: object) -> Problem:
    return msgspec.structs.replace(SUM, **fields)


@pytest.mark.parametrize("benchmark", BUILTIN)
@pytest.mark.parametrize("file", ["", "solution.py"])
def test_prompt_template_has_statement_limits_and_format(benchmark: str, file: str) -> None:
    prompt = Prompts(benchmark=benchmark, language="python", file=file)(SUM)
    assert "Add {{ them }} & <print>.\n" in prompt, "a statement is neither a template nor a page"
    assert "10 s for each test" in prompt
    assert ("`solution.py`" in prompt) == bool(file)
    assert ("```python" in prompt) != bool(file)
    assert prompt.endswith("\n") and not prompt.endswith("\n\n")
    assert "\n\n\n" not in prompt


@pytest.mark.parametrize("benchmark", BUILTIN)
def test_prompt_without_limits_omits_time_limit(benchmark: str) -> None:
    assert "for each test" not in Prompts(benchmark=benchmark)(changed(limits=Limits()))


@pytest.mark.parametrize("benchmark", BUILTIN)
@pytest.mark.parametrize("language", LANGUAGES, ids=lambda language: language.name)
def test_requested_code_block_tag_is_extractable(language: Language, benchmark: str) -> None:
    prompt = Prompts(benchmark=benchmark, language=language.name)(changed(starter_code="begin\n"))
    tags = [line.removeprefix("```") for line in prompt.splitlines() if line.startswith("```")]
    assert tags[-1] == "" and {*filter(None, tags)} <= language.tags, prompt


def test_apps_prompt_describes_standard_input_or_function() -> None:
    prompt = Prompts(benchmark="apps", language="python")
    assert "(interview)" in prompt(SUM) and "standard input" in prompt(SUM)
    function = changed(
        task_type=TaskType.FUNCTION, options=TaskOptions(function="add"), starter_code="def add(xs):\n"
    )
    assert "`add`" in prompt(function) and "```python\ndef add(xs):\n```" in prompt(function)
    assert "standard input" not in prompt(function)


@pytest.mark.parametrize("benchmark", ["", "ioi"])
@pytest.mark.parametrize("stub", [True, False])
def test_prompt_forbids_main_only_with_stub(benchmark: str, stub: bool) -> None:
    talking = changed(task_type=TaskType.COMMUNICATION, options=TaskOptions(with_grader=stub))
    assert ("write no `main`" in Prompts(benchmark=benchmark)(talking)) == stub


def test_ioi_prompt_lists_subtasks_with_points() -> None:
    subtasks = (Subtask(name="00-samples", points=0, tests=()), Subtask(name="01-small", points=40, tests=()))
    prompt = Prompts(benchmark="ioi", language="c++")(changed(subtasks=subtasks))
    assert "- 01-small: 40 points\n" in prompt and "samples" not in prompt
    assert "```cpp" in prompt


def test_prompt_template_file_is_used(tmp_path: Path) -> None:
    template = tmp_path / "mine"
    template.write_text(
        "{{ problem.id }} in {{ language }}: {{ statement }}é\n{% include '_ending.md.j2' %}", "utf-8"
    )
    assert Prompts(str(template), benchmark="apps", language="python")(SUM).startswith(
        "apps_1 in python: Add"
    )
    assert Prompts("ioi", benchmark="apps")(SUM).startswith("This is a problem of the International")


@pytest.mark.parametrize(
    "template_text, message",
    [
        ("{{ no_such_word }}", "no_such_word"),
        ("{{ problem.no_such_field }}", "no_such_field"),
        ("{{ 1 / 0 }}", "division"),
        ("{{ '%d'|format(statement) }}", "filled"),
        ("{% include 'nothing' %}", "nothing"),
        ("{% if %}", "is not a valid template"),
    ],
)
def test_invalid_prompt_template_is_input_error(tmp_path: Path, template_text: str, message: str) -> None:
    template = tmp_path / "mine.j2"
    template.write_text(template_text)
    with pytest.raises(InputError, match=message) as caught:
        Prompts(str(template))(SUM)
    assert str(template) in str(caught.value)


def test_unknown_prompt_template_is_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="apps, default, ioi"):
        Prompts(str(tmp_path / "mine.j2"))
    with pytest.raises(InputError, match="one of apps, default, ioi"):
        Prompts("iio")


def test_prompt_for_problem_without_statement_is_input_error() -> None:
    with pytest.raises(InputError, match="no statement"):
        Prompts()(changed(statement=None))


def test_requests_alternate_between_problems_and_name_their_problem() -> None:
    other = changed(id="p", year=2024)
    asks = make_requests(
        [(SUM, "python"), (other, "c++")], lambda problem, _: f"Solve {problem.id}.", samples=2
    )
    assert [request.key for request in asks] == ["apps_1#0", "p@2024#0", "apps_1#1", "p@2024#1"]
    assert [request.number for request in asks] == [0, 0, 1, 1]
    assert asks[1].prompt == "Solve p." and asks[1].year == 2024


def test_generation_fingerprint_covers_prompts_model_and_settings() -> None:
    asks = make_requests([(SUM, "python")], lambda *_: "a", samples=1)
    other_requests = make_requests([(SUM, "python")], lambda *_: "b", samples=1)
    same = fingerprint(asks, "m", {"a": 1, "b": 2})
    assert same == fingerprint(asks, "m", {"b": 2, "a": 1})
    different = {
        fingerprint(other_requests, "m", {}),
        fingerprint(asks, "n", {}),
        fingerprint(asks, "m", {"a": 2}),
    }
    assert len(different | {same, fingerprint(asks, "m", {})}) == 5
