"""The language of a submission: its sources, their order, and limits of the fence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from support.command_line import write_dump
from support.datasets import Problems, open_dump
from support.engines import fake_capabilities

from ioi_eval import Scorer
from ioi_eval.benchmarks import BenchmarkOptions, DumpOptions
from ioi_eval.errors import InputError, JudgeFailure
from ioi_eval.integrations.tasks import open_evaluation_source
from ioi_eval.models import Blob, LanguageFrom, NamedBlob, Problem, Submission, TaskOptions, TaskType, Test
from ioi_eval.rules.extraction import Extraction, extract
from ioi_eval.rules.languages import choose_language, list_allowed_languages
from ioi_eval.runs.authors import Asking, create_prompts
from ioi_eval.scoring import find_language
from ioi_eval.store.rows import hash_submission
from ioi_eval.testing import FakeEngine

PLAIN = Problem(id="plain")
FUNCTION = Problem(id="function", task_type=TaskType.FUNCTION)


def graded(*suffixes: str) -> Problem:
    files = tuple(NamedBlob(name=f"graders/grader{suffix}", content=Blob.of("")) for suffix in suffixes)
    return Problem(id="graded", options=TaskOptions(with_grader=True), grader_files=files)


def fenced(*tags: str) -> str:
    """Return a reply with a block for each tag. The C++ block has C++ code."""
    codes = {"cpp": "int main() {}\n", "": "int main() {}\n", "c": "int main() {}\n", "text": "1 2\n"}
    return "".join(f"So:\n```{tag}\n{codes.get(tag, 'print(1)')}\n```\n" for tag in tags)


@pytest.mark.parametrize(
    ("problem", "sources", "chosen"),
    [
        (PLAIN, {"row": "java", "option": "go", "format": "python", "reply": fenced("rust")}, "java row"),
        (PLAIN, {"option": "go", "format": "python", "reply": fenced("rust")}, "go option"),
        (FUNCTION, {"option": "go"}, "go option"),
        (PLAIN, {"format": "python", "reply": fenced("rust")}, "python format"),
        (graded(".cpp"), {"format": "python"}, "c++ problem"),
        (graded(".py"), {"format": "python"}, "python format"),
        (FUNCTION, {"reply": fenced("cpp")}, "python problem"),
        (graded(".cpp"), {"reply": fenced("python")}, "c++ problem"),
        (graded(".py"), {}, "python problem"),
        (PLAIN, {"reply": fenced("python")}, "python reply"),
        (PLAIN, {"reply": fenced("text", "py")}, "python reply"),
        (graded(".cpp", ".py"), {"reply": fenced("python")}, "python reply"),
        (graded(".cpp", ".py"), {"reply": fenced("rust")}, "c++ default"),
        (PLAIN, {"reply": fenced("rust", "python")}, "python reply"),
        (PLAIN, {"reply": fenced("rust", "python"), "extraction": Extraction.FIRST}, "rust reply"),
        (PLAIN, {"reply": fenced("python"), "extraction": Extraction.WHOLE}, "c++ default"),
        (PLAIN, {"reply": fenced("cpp", "python")}, "c++ default"),
        # A tagged block wins over an untagged block.
        (PLAIN, {"reply": fenced("", "python")}, "python reply"),
        (PLAIN, {"reply": fenced("python", "")}, "python reply"),
        (PLAIN, {"reply": fenced("c", "python")}, "c++ default"),
        (PLAIN, {"reply": fenced("python"), "default": "pypy"}, "pypy default"),
        (PLAIN, {"reply": fenced("pypy3")}, "pypy reply"),
        (PLAIN, {"reply": fenced("pypy3"), "default": "python"}, "pypy reply"),
        (PLAIN, {"reply": fenced("sum.py")}, "python reply"),
        (PLAIN, {"reply": "\\boxed{\n```go\npackage main\nfunc main() {}\n```\n}"}, "go reply"),
        (PLAIN, {"reply": "int main() {}\n```\nOr:\n" + fenced("python")}, "c++ default"),
        (PLAIN, {"reply": fenced("text", "bash")}, "c++ default"),
        (PLAIN, {"reply": f"<think>{fenced('python')}</think> I cannot."}, "c++ default"),
        (PLAIN, {"reply": "I cannot."}, "c++ default"),
        (PLAIN, {}, "c++ default"),
    ],
)
def test_first_source_with_a_language_determines_the_language(
    problem: Problem, sources: dict[str, Any], chosen: str
) -> None:
    choice = choose_language(problem, **sources)
    assert f"{choice.language} {choice.source}" == chosen


def test_only_rows_without_a_named_language_are_counted_as_assumed(tmp_path: Path) -> None:
    """A fence that names the default language names the language, although nothing changes."""
    replies = [fenced("cpp"), fenced("c++"), fenced("python"), "int main() {}", "I cannot."]
    rows = [{"id": n, "problem_id": "plain", "generation": reply} for n, reply in enumerate(replies)]
    detected = open_dump([write_dump(tmp_path / "d.jsonl", rows)], problems=Problems([PLAIN])).info.understood
    languages = "languages c++ (from 2 replies, assumed for 2 rows), python (from 1 reply), 1 of 5 without"
    assert languages in str(detected)
    single = open_dump([write_dump(tmp_path / "e.jsonl", rows[3:4])], problems=Problems([PLAIN]))
    assert "language c++ (assumed for 1 row), 0 of 1 without" in str(single.info.understood)


READS = "n = int(input())\nprint(2 * n)\n"
MAIN = "import sys\n\n\ndef main():\n    print(sys.stdin.read())\n\n\nmain()\n"
CPP = '#include <cstdio>\nint main() { puts("1"); }\n'


def block(code: str, tag: str = "") -> str:
    return f"So:\n\n```{tag}\n{code}```\n\n"


@pytest.mark.parametrize(
    ("reply", "options", "code"),
    [
        (block(READS), {}, READS),
        (block(MAIN), {}, MAIN),  # `main(` occurs in C++ programs as well
        (block("class A:\n    pass\n\n\nprint(A)\n"), {"default": "java"}, None),
        (block(READS, "text"), {}, READS),
        (block(READS).replace("`", "~"), {}, READS),
        (block(READS).replace("\n", "\r\n"), {}, READS),
        (f"1. So:\n   ```\n   {READS.replace(chr(10), chr(10) + '   ')}```\n", {}, READS),
        (f"<think>{block(CPP)}</think>{block(READS)}", {}, READS),
        (f"So:\n```\n{READS}", {}, READS),
        (READS, {}, READS),
        ("".join(map(block, ("3\n", READS, "6\n"))), {}, READS),
        ("".join(map(block, (READS, "print(double(3))\n"))), {}, READS),
        (block("print(42)\n"), {}, "print(42)\n"),
        (block("ls -la\n", "bash") + block(READS), {}, READS),
        (block(READS) + block(MAIN), {"extraction": Extraction.FIRST}, READS),
        (block(READS), {"extraction": Extraction.LIVECODEBENCH}, READS.strip("\n")),
    ],
)
def test_untagged_block_that_parses_as_python_is_python(
    reply: str, options: dict[str, Any], code: str | None
) -> None:
    method = choose_language(PLAIN, reply=reply, **options)
    assert (method.language, method.source) == ("python", LanguageFrom.REPLY)
    choice = options.get("extraction", Extraction.LAST)
    assert code is None or extract(reply, find_language("python"), choice) == code


@pytest.mark.parametrize(
    ("reply", "options"),
    [
        *((block(shown), {}) for shown in ("n = 5\n", "O(n)\n", "Output: 5\n", "1 2 3\n", "3\n", "a, b\n")),
        *((block(shown), {}) for shown in ("[1, 2]\n", "yes\n", '{"a": 1}\n', "return n\n", "dp[i] = j\n")),
        (block(CPP), {}),
        (block(CPP) + block(READS), {}),
        (block(READS) + block(CPP), {}),
        (block(CPP) + block(MAIN), {}),
        (block(CPP) + block("print(3)\n"), {}),
        (block("let main = read_int () in main\n", "ocaml") + block("print(3)\n"), {}),
        (block("console.log(require('fs').readFileSync(0))\n"), {}),
        (block(READS), {"extraction": Extraction.WHOLE}),
        (f"{CPP}```\nOr:\n{block(READS)}", {}),
        ("I cannot solve it.", {}),
    ],
)
def test_reply_without_recognizable_language_gets_default_language(
    reply: str, options: dict[str, Any]
) -> None:
    assert choose_language(PLAIN, reply=reply, **options) == ("c++", LanguageFrom.DEFAULT)


def test_untagged_python_is_not_chosen_if_the_problem_does_not_admit_it() -> None:
    choice = choose_language(graded(".cpp", ".c"), reply=block(READS))
    assert choice == ("c++", LanguageFrom.DEFAULT)
    assert choose_language(PLAIN, reply=block(READS), row="c++") == ("c++", LanguageFrom.ROW)
    assert choose_language(PLAIN, reply=block(READS), option="c++") == ("c++", LanguageFrom.OPTION)


def test_problem_admits_languages_of_its_graders() -> None:
    assert {allowed.name for allowed in list_allowed_languages(FUNCTION)} == {"python", "pypy"}
    assert {allowed.name for allowed in list_allowed_languages(graded(".cpp", ".c"))} == {"c++", "c"}
    assert find_language("rust") in list_allowed_languages(PLAIN)


# --- rows --------------------------------------------------------------------------------------------


def read(path: Path, **options: Any) -> list[Submission]:
    return list(open_dump([path], problems=Problems([PLAIN]), options=DumpOptions(**options)))


BATCH = {"body": {"choices": [{"message": {"content": fenced("python")}}]}}


@pytest.mark.parametrize(
    ("columns", "options", "expected_choice"),
    [
        ({"question_id": "plain", "code_list": ["print(1)"]}, {}, "python format"),
        ({"question_id": "plain", "code_list": ["int i;"]}, {"language": "c++"}, "c++ option"),
        ({"question_id": "plain", "code_list": [""], "language": "cpp"}, {"language": "go"}, "cpp row"),
        ({"custom_id": "plain#1", "response": BATCH}, {}, "python reply"),
        ({"problem_id": "plain", "generation": fenced("python")}, {}, "python reply"),
        ({"problem_id": "plain", "generation": block(READS)}, {}, "python reply"),
        ({"problem_id": "plain", "generation": block(READS)}, {"language": "c++"}, "c++ option"),
        ({"problem_id": "plain", "generation": "-"}, {"default_language": "java"}, "java default"),
        # A fence within a program is no sign of its language.
        ({"problem_id": "plain", "code": 'char t[] = "```python";'}, {}, "c++ default"),
    ],
)
def test_rows_record_source_of_language(
    tmp_path: Path, columns: dict[str, Any], options: dict[str, Any], expected_choice: str
) -> None:
    [sent] = read(write_dump(tmp_path / "d.jsonl", [columns]), **options)
    assert f"{sent.language} {sent.language_from}" == expected_choice


# --- languages missing on an engine ------------------------------------------------------------------


@pytest.mark.parametrize(("tools", "compiles"), [(("rustc",), True), ((), False)], ids=["there", "missing"])
async def test_fenced_language_missing_on_engine_scores_zero(tools: tuple[str, ...], compiles: bool) -> None:
    choice = choose_language(PLAIN, reply=fenced("rust"))
    of = Submission(key="k", problem_id="p", code="fn main() {}", language=choice.language)
    sent = msgspec.structs.replace(of, language_from=choice.source)
    test = Test(name="1", input=Blob.of(""), answer=Blob.of(""))
    profile, problem = fake_capabilities(), Problem(id="p", tests=(test,))
    toolchains = {name: tool for name, tool in profile.toolchains.items() if name in ("g++", *tools)}
    async with Scorer(
        FakeEngine(capabilities=msgspec.structs.replace(profile, toolchains=toolchains))
    ) as scorer:
        result = await scorer.score(problem, sent)
        if not compiles:
            with pytest.raises(JudgeFailure, match="rustc"):
                await scorer.score(problem, of)
    assert result.compiles is compiles
    assert result.tests[0].feedback == ("" if compiles else "no code found")
    lacks = "the reply contains a program in rust, which the engine cannot run"
    assert result.compile_output == ("" if compiles else lacks)


def test_submission_hash_depends_on_where_language_was_found() -> None:
    """A language missing on the engine scores 0 if it came from a fence, and is unscored otherwise."""
    of = {"key": "a", "problem_id": "plain", "code": "x", "language": "rust"}
    fence = Submission(**of, language_from=LanguageFrom.REPLY)
    from_row = Submission(**of, language_from=LanguageFrom.ROW)
    assert hash_submission(PLAIN, fence) != hash_submission(PLAIN, from_row)


# --- prompts of models -------------------------------------------------------------------------------

EXAMPLES = Path(__file__).parents[2] / "examples" / "problems"


@pytest.mark.usefixtures("default_cache")
def test_prompt_uses_only_admitted_language() -> None:
    """`calm` is a function task; `verse` accepts any language."""
    source = str(EXAMPLES)

    def prompt(name: str, language: str = "") -> str:
        choice = BenchmarkOptions(problems=frozenset({name}))
        [prompt_text] = create_prompts(source, choice=choice, asking=Asking(language=language))
        return prompt_text

    assert "```python" in prompt("calm") and "```cpp" in prompt("verse")
    assert "```python" in prompt("verse", "python")
    with pytest.raises(InputError, match="calls a function of a Python submission"):
        prompt("calm", "c++")  # a program that can never be judged is not requested
    opened = open_evaluation_source(source, {})
    assert {opened.choose_language(opened.problems.find(name)).name for name in ("calm", "verse")} == {
        "python",
        "c++",
    }
    prompts = {label: prompt_text for label, _, prompt_text in opened.make_prompts()}
    assert "```python" in prompts["calm"] and "```cpp" in prompts["verse"]
