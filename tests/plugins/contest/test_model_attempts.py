"""Models that submit repeatedly and get feedback between their attempts."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import pytest
from msgspec.structs import replace
from support.command_line import RIGHT, CommandLine, write_package
from support.engines import fake_capabilities
from support.stub_server import StubReply, StubRequest, StubServer, chat_reply, json_reply, model_server

from ioi_eval import InputError
from ioi_eval.plugins.contest import ContestOutcome, Feedback, Rules, Turns, compete
from ioi_eval.runs import Asking, BenchmarkOptions, BudgetOptions, ModelOptions, Sampling
from ioi_eval.store.folder import read_rows
from ioi_eval.store.resources import examples_folder
from ioi_eval.testing import FakeEngine, FakeTest

SOURCE = str(examples_folder() / "problems" / "lanterns")


def outcome(test: FakeTest) -> float:
    """Pass the first three tests for `worth 3`."""
    return float(test.index < int(test.source.split("worth ")[1].split()[0]))


def program(worth: int, more_code: str = "") -> StubReply:
    usage = {"prompt_tokens": 10, "completion_tokens": 5}
    return chat_reply(f"Here:\n```cpp\nint worth {worth} ; {more_code}\n```\n", usage=usage)


@pytest.fixture
def requests() -> list[StubRequest]:
    return []


async def competed(
    folder: Path,
    answer: Callable[[StubRequest], StubReply],
    all_requests: list[StubRequest],
    turns: Turns | None = None,
    rules: Rules | None = None,
    **more: object,
) -> ContestOutcome:
    server = StubServer(answer, "/v1")
    with server.running():
        model = ModelOptions(name="otter/32b", base_url=server.url, attempts=1, pause=0.0)
        try:
            return await compete(
                SOURCE,
                model,
                turns,
                rules,
                out=folder,
                engine=FakeEngine(outcome),
                **more,  # type: ignore[arg-type]
            )
        finally:
            all_requests += server.asked


async def test_model_gets_feedback_as_next_message_until_full_marks(
    tmp_path: Path, requests: list[StubRequest]
) -> None:
    result = await competed(
        tmp_path, lambda one: program((0, 8, 99, 99)[one.number]), requests, Turns(number=9)
    )
    assert [(entry.participant, entry.points) for entry in result.scoreboard] == [("otter-32b", 100)]
    assert result.unwritten == {} and len(requests) == 3
    second, third = requests[1].body["messages"], requests[2].body["messages"]
    assert [message["role"] for message in third] == ["user", "assistant", "user", "assistant", "user"]
    assert third[:3] == second and "worth 0" in third[1]["content"]
    assert "gets 0 of 100 points" in second[2]["content"] and "8 more submissions" in second[2]["content"]
    assert "- Subtask 00-samples: 0 of 0, WA" in second[2]["content"]
    assert "worth 8" in third[3]["content"]
    rows = list(read_rows(tmp_path))
    assert [(row["attempt"], row["participant"], row["points"]) for row in rows][-1] == (3, "otter-32b", 100)
    assert result.summary.models[0].points == 100


@pytest.mark.parametrize("points", [(40, 60), (33.333, 66.664)])  # rounded, the last fall short
async def test_attempts_end_when_subtasks_of_several_programs_give_full_marks(
    tmp_path: Path, points: tuple[float, float]
) -> None:
    subtasks = {"1": (points[0], ["1-1"]), "2": (points[1], ["1-2"])}
    package = write_package(tmp_path / "add", subtasks=subtasks)
    (package / "statement.md").write_text("Add.")
    engine = FakeEngine(lambda test: float(f"right on {test.index}" in test.source))

    def answer(request: StubRequest) -> StubReply:
        return chat_reply(f"```cpp\nint right on {request.number} ;\n```\n")

    with StubServer(answer, "/v1").running() as server:
        model = ModelOptions(name="otter", base_url=server.url)
        result = await compete(str(package), model, Turns(number=5), out=tmp_path / "run", engine=engine)
    assert [entry.points for entry in result.scoreboard] == [
        sum(round(subtask_points, 2) for subtask_points in points)
    ]
    assert len(server.asked) == 2


async def test_resumed_run_repeats_no_answered_request(tmp_path: Path, requests: list[StubRequest]) -> None:
    def first(request: StubRequest) -> StubReply:
        return program(request.number) if request.number < 2 else json_reply({"error": "down"}, status=500)

    result = await competed(tmp_path, first, requests, Turns(number=4))
    assert "otter-32b/lanterns" in result.unwritten and len(requests) == 3
    (warning,) = result.summary.warnings
    assert warning.startswith(
        "Stopped early 1 time, so that points there may be too low (otter-32b/lanterns: "
    )
    messages_before = [request.body["messages"] for request in requests]
    requests.clear()
    result = await competed(tmp_path, lambda one: program(5 + one.number), requests, Turns(number=4))
    assert result.unwritten == {} and result.summary.warnings == () and len(requests) == 2
    assert requests[0].body["messages"] == messages_before[2]
    assert [row["attempt"] for row in read_rows(tmp_path)] == [1, 2, 3, 4]
    requests.clear()
    await competed(tmp_path, lambda one: program(99), requests, Turns(number=4))
    assert requests == [] and len(list(read_rows(tmp_path))) == 4


async def test_changed_prompt_is_refused_in_the_same_folder(
    tmp_path: Path, requests: list[StubRequest]
) -> None:
    await competed(tmp_path, lambda one: program(0), requests, Turns(number=1))
    other = Asking(prompt="ioi")
    with pytest.raises(InputError, match="the file contains replies to prompts that have changed since"):
        await competed(tmp_path, lambda one: program(0), requests, Turns(number=1), asking=other)


async def test_changed_model_or_settings_are_refused_in_the_same_folder(
    tmp_path: Path, requests: list[StubRequest]
) -> None:
    def model(name: str, temperature: float) -> ModelOptions:
        sampling = Sampling(temperature=temperature)
        return ModelOptions(name=name, base_url="http://127.0.0.1:1/v1", sampling=sampling)

    await competed(tmp_path, lambda one: program(one.number), requests, Turns(number=2))
    # These models have the same participant name, but the stored replies are not theirs.
    for other in (model("otter-32b", 0.0), model("otter/32b", 0.5)):
        with pytest.raises(
            InputError, match="the file contains replies of a model with another name or other settings"
        ):
            await compete(SOURCE, other, Turns(number=2), out=tmp_path, engine=FakeEngine(outcome))
    with pytest.raises(InputError, match="the file contains replies of more than 1 turns"):
        await competed(tmp_path, lambda one: program(9), requests, Turns(number=1))
    assert len(requests) == 2 and len(list(read_rows(tmp_path))) == 2


async def test_long_model_names_are_shortened_to_distinct_participant_names(tmp_path: Path) -> None:
    async def points(name: str, worth: int) -> list[tuple[str, float]]:
        with StubServer(lambda one: program(worth), "/v1").running() as server:
            model = ModelOptions(name=name, base_url=server.url)
            result = await compete(SOURCE, model, Turns(number=1), out=tmp_path, engine=FakeEngine(outcome))
        return [(entry.participant[-6:], entry.points) for entry in result.scoreboard]

    folder = f"/models/{'a-long-experiment/' * 4}checkpoint-"
    assert await points(f"{folder}1000", 99) == [("t-1000", 100)]
    assert await points(f"{folder}2000", 0) == [("t-1000", 100), ("t-2000", 0)]


async def test_missing_and_repeated_programs_are_answered_with_a_message(
    tmp_path: Path, requests: list[StubRequest]
) -> None:
    answers = (chat_reply("I cannot do that."), program(1), program(1))
    await competed(tmp_path, lambda one: answers[one.number], requests, Turns(number=3))
    prompts = [request.prompt for request in requests]
    assert "holds no program" in prompts[1] and "gets 0 of 100 points" in prompts[2]
    assert len(list(read_rows(tmp_path))) == 1


async def test_problem_without_any_program_scores_0(tmp_path: Path, requests: list[StubRequest]) -> None:
    """It counts in the number of problems, as for models with a single attempt."""
    result = await competed(tmp_path, lambda one: chat_reply("I cannot do that."), requests, Turns(number=2))
    (model,) = result.summary.models
    assert (model.points, model.max_points, model.submissions, model.compiled) == (0, 100, 1, 0)
    (row,) = read_rows(tmp_path)
    assert (row["reason"], row["attempt"], row["code"]) == ("no program", 1, None)
    await competed(tmp_path, lambda one: program(99), requests, Turns(number=2))
    assert len(requests) == 2 and len(list(read_rows(tmp_path))) == 1
    result = await competed(tmp_path, lambda one: program(99), requests, Turns(number=3))
    assert result.summary.models[0].points == 100 and len(list(read_rows(tmp_path))) == 2


async def test_report_of_attempts_has_no_mean_score_of_programs(tmp_path: Path) -> None:
    """Each attempt uses the feedback on the attempt before it, so a mean over programs is meaningless."""
    rows = apps_rows(tmp_path / "apps.jsonl", {"inputs": ["1", "2"], "outputs": ["3", "3"]})

    def answer(request: StubRequest) -> StubReply:
        return chat_reply(f"```python\nworth {len(request.body['messages']) // 2} tests\n```")

    with StubServer(answer, "/v1").running() as server:
        model, choice = ModelOptions(name="otter", base_url=server.url), BenchmarkOptions(packages=())
        result = await compete(
            str(rows), model, Turns(number=9), out=tmp_path / "run", engine=FakeEngine(outcome), choice=choice
        )
    (otter,) = result.summary.models
    assert (otter.submissions, otter.solved, otter.problems_solved) == (3, 1, 1)
    assert (otter.share, otter.share_low, otter.mean_score, otter.pass_at, otter.pass_curve) == (
        *(None, None, None),
        *((), ()),
    )
    report = (tmp_path / "run" / "report.md").read_text()
    assert "## Scoreboard" in report and "pass@" not in report


def apps_rows(path: Path, *tests: object) -> Path:
    rows = ({"question": "?", "input_output": json.dumps(test), "difficulty": "easy"} for test in tests)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


async def test_model_is_not_asked_about_an_unusable_problem(tmp_path: Path) -> None:
    rows = apps_rows(tmp_path / "apps.jsonl", {"inputs": ["1"], "outputs": []})
    with StubServer(lambda one: program(99), "/v1").running() as server:
        model, choice = ModelOptions(name="otter", base_url=server.url), BenchmarkOptions(packages=())
        result = await compete(
            str(rows), model, out=tmp_path / "run", engine=FakeEngine(outcome), choice=choice
        )
    assert server.asked == []
    assert result.unwritten == {
        "otter/apps_0": "Could not parse test cases: the tests have 1 input but 0 outputs"
    }
    assert result.summary.models[0].unscored == 1


def python_without_packages() -> FakeEngine:
    profile = fake_capabilities()
    bare = {**profile.toolchains, "python3": replace(profile.toolchains["python3"], modules=())}
    return FakeEngine(outcome, capabilities=replace(profile, toolchains=bare))


@pytest.mark.parametrize(("language", "number"), [("", 0), ("c++", 1)])
async def test_python_packages_are_required_only_for_python_programs(
    tmp_path: Path, language: str, number: int
) -> None:
    rows = str(apps_rows(tmp_path / "apps.jsonl", {"inputs": ["1"], "outputs": ["1"]}))
    choice, asking = BenchmarkOptions(packages=("numpy",)), Asking(language=language)
    with StubServer(lambda one: program(99), "/v1").running() as server:
        model = ModelOptions(name="otter", base_url=server.url)
        asks = compete(
            rows, model, out=tmp_path / "run", engine=python_without_packages(), choice=choice, asking=asking
        )
        with nullcontext() if number else pytest.raises(InputError, match="may import numpy"):
            await asks
    assert len(server.asked) == number


async def test_model_is_not_asked_if_the_compiler_is_missing(tmp_path: Path) -> None:
    profile = fake_capabilities()
    tools = {name: tool for name, tool in profile.toolchains.items() if name != "g++"}
    engine = FakeEngine(outcome, capabilities=replace(profile, toolchains=tools))
    with StubServer(lambda one: program(99), "/v1").running() as server:
        model = ModelOptions(name="otter", base_url=server.url)
        with pytest.raises(
            InputError, match=r"no program was requested from the author.*apt-get install g\+\+"
        ):
            await compete(SOURCE, model, out=tmp_path / "run", engine=engine)
    assert server.asked == []


def test_suspicious_results_of_attempts_exit_with_code_4(cli: CommandLine, tmp_path: Path) -> None:
    for n in range(10):
        package = write_package(tmp_path / "packages" / f"add-{n}", subtasks={"1": (100, ["1-1"])})
        (package / "statement.md").write_text("Add.")
    server = StubServer(lambda one: chat_reply("I cannot do that."), "/v1")
    with server.running():
        model = ("-m", "otter", "--base-url", server.url)
        arguments = ("run", "--problems", "packages", *model, "--turns", "2", "--out", "run")
        first = cli(*arguments)
        assert first.returncode == 4 and "are hardly plausible" in first.stdout, first.stderr
        (cli.folder / "ioi-eval.toml").write_text("allow-suspicious = true\n")
        assert cli(*arguments).returncode == 0
    assert len(server.asked) == 20


@pytest.mark.parametrize(
    ("feedback", "message"),
    [(Feedback.VERDICT, "The verdict on your program: WA."), (Feedback.NONE, "Your program was submitted.")],
)
async def test_reduced_feedback_rule_shortens_the_next_prompt(
    tmp_path: Path, requests: list[StubRequest], feedback: Feedback, message: str
) -> None:
    rules = Rules(feedback=feedback)
    await competed(tmp_path, lambda one: program(one.number), requests, Turns(number=2), rules)
    assert requests[1].prompt.startswith(message) and "points" not in requests[1].prompt


async def test_custom_feedback_template_is_used(tmp_path: Path, requests: list[StubRequest]) -> None:
    template = tmp_path / "words.j2"
    template.write_text("{{ told.points }} in turn {{ turn }} of {{ turns }}, {{ language }}")
    turns = Turns(number=2, template=str(template))
    await competed(tmp_path / "run", lambda one: program(one.number), requests, turns)
    assert requests[1].prompt == "0.0 in turn 1 of 2, c++\n"
    template.write_text("{{ nothing }}")
    with pytest.raises(InputError, match="cannot be filled"):
        await competed(tmp_path / "other", lambda one: program(one.number), requests, turns)


async def test_samples_are_separate_participants_and_token_budget_ends_attempts(
    tmp_path: Path, requests: list[StubRequest]
) -> None:
    asking = Asking(samples=2, concurrency=1)
    result = await competed(
        tmp_path,
        lambda one: program(one.number),
        requests,
        Turns(number=3),
        asking=asking,
        budget=BudgetOptions(tokens=60),
    )
    assert [entry.participant for entry in result.scoreboard] == ["otter-32b.1", "otter-32b.2"]
    assert len(requests) == 4 and list(result.unwritten) == ["otter-32b.2/lanterns"]
    assert "budget" in result.unwritten["otter-32b.2/lanterns"]
    recorded_keys = [json.loads(line)["key"] for line in (tmp_path / "turns.jsonl").open()]
    assert recorded_keys == [
        "otter-32b.1/lanterns#1",
        "otter-32b.1/lanterns#2",
        "otter-32b.1/lanterns#3",
        "otter-32b.2/lanterns#1",
    ]
    requests.clear()
    budget = BudgetOptions(tokens=60)  # for all calls together
    await competed(tmp_path, lambda one: program(9), requests, Turns(number=3), asking=asking, budget=budget)
    assert requests == []


def test_run_command_with_turns_asks_model_again_with_feedback(cli: CommandLine, tmp_path: Path) -> None:
    answers = chat_reply("```cpp\nint main() {}\n```"), chat_reply(f"```cpp\n{RIGHT}\n```")
    package = write_package(tmp_path / "add")
    (package / "statement.md").write_text("Add two numbers.")
    with model_server(*answers) as server:
        model = ("-m", "otter", "--base-url", server.url)
        arguments = ("run", "-b", package, *model, "--turns", "3", "--out", "run")
        completed = cli(*arguments)
        assert completed.returncode == 0 and "otter" in completed.stdout, completed.stderr
        assert len(server.asked) == 2 and "gets 0 of" in server.asked[1].prompt
        assert cli(*arguments).returncode == 0 and len(server.asked) == 2
        cli.set_keys(share=False)
        refused = cli(*arguments)
        assert refused.returncode == 2, refused.stderr
        assert "error: ioi-eval.toml, field 'share': " in refused.stderr
    assert [row["attempt"] for row in read_rows(tmp_path / "run")] == [1, 2]
