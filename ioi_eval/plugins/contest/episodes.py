"""EpisodeSource: contests with a single participant and a single problem, for trainers and evaluations."""

from __future__ import annotations

import math
import random
from collections.abc import Coroutine, Mapping
from typing import Any

from msgspec import Struct, ValidationError, convert, to_builtins
from msgspec.structs import fields

from ioi_eval.errors import InputError
from ioi_eval.integrations.tasks import EvaluationSource, convert_options, open_evaluation_source
from ioi_eval.plugins.contest import MAX_PART_LENGTH, Contest, Rules, Statement, SubmissionReply, as_markdown
from ioi_eval.plugins.contest.tools import Tool, make_tool_method, run, submit, test

_ALONE = "participant"


class EpisodeSource:
    """Starts episodes: contests of a single participant with a single problem of a source.

    The options are the fields of `JudgingOptions`, `BenchmarkOptions` and `Rules`.

    episode = EpisodeSource("packages", {"submissions": 5, "feedback": "points"}).start("tide")
    """

    def __init__(self, source: str, options: Mapping[str, Any]) -> None:
        rule_names = {field.name for field in fields(Rules)}
        try:
            self.rules = convert(convert_options(options, Rules), Rules, strict=False)
        except ValidationError as error:
            raise InputError(f"a rule of the contest is invalid: {error}") from error
        self.source: EvaluationSource = open_evaluation_source(
            source, {name: options[name] for name in options if name not in rule_names}
        )
        self.problems = {
            label: problem for label, problem in self.source.problems.items() if not problem.unusable
        }
        if not self.problems:
            raise InputError("no problem matches the filters", where=source, remedy="Give fewer filters")

    def start(self, problem: str = "", seed: int | None = None) -> Episode:
        """Start an episode. If `problem` is empty, choose a problem at random by `seed`."""
        label = problem or random.Random(seed).choice(list(self.problems))
        if label not in self.problems:
            labels = ", ".join(list(self.problems)[:20])
            raise InputError(
                f"the source has no problem {problem!r}", field="problem", remedy=f"Its problems are {labels}"
            )
        return Episode(self, label)


class _LastFailureReason:
    """A record that stores only why the last submission was not judged, even if its caller was cancelled."""

    def __init__(self) -> None:
        self.reason = ""

    def save_result(self, row: Mapping[str, Any]) -> None:
        self.reason = ""

    def save_failure(self, row: Mapping[str, Any]) -> None:
        self.reason = str(row["reason"])

    def save_run(self, row: Mapping[str, Any]) -> None:
        pass


class Episode:
    """A participant's calls and points in a contest with a single problem.

    Calls raise `RefusedCall` and `UnjudgedCall`. A call in progress continues and counts if its caller is
    cancelled. `wait_for_calls` waits for such calls.
    """

    def __init__(self, episodes: EpisodeSource, label: str) -> None:
        self.label, self._runtime = label, episodes.source.runtime()
        problems = {label: episodes.problems[label]}
        self._record = _LastFailureReason()
        self._contest = Contest(
            problems,
            episodes.rules,
            judge=self._runtime.judge,
            participants=[_ALONE],
            record=self._record,
        )
        self._session = self._contest.session(_ALONE)
        self._repeated_submissions = 0

    @property
    def statement(self) -> Statement:
        return self._session.statement(self.label)

    @property
    def prompt(self) -> str:
        """Return the statement and the rules."""
        return f"{as_markdown(self.statement)}\n{self._contest.rules.make_rules_text()}\n"

    def read_statement(self, offset: int = 0) -> str:
        """Return up to 32,768 characters of the prompt from an offset, and the call that reads the rest."""
        prompt, offset = self.prompt, max(0, offset)
        end = offset + MAX_PART_LENGTH
        next_call_text = (
            f"\n\nCharacters {offset} to {end} of {len(prompt)}: `statement(offset={end})` reads on.\n"
        )
        return prompt[offset:end] + (next_call_text if end < len(prompt) else "")

    @property
    def unjudged_reason(self) -> str:
        """Return why the last submission was not judged, or "". An episode with a reason has no score."""
        return self._record.reason

    @property
    def submission_count(self) -> int:
        """Return the number of submissions with a reply, including repeated submissions."""
        return self._session.problems()[0].attempts + self._repeated_submissions

    async def wait_for_calls(self) -> None:
        """Wait until no call is in progress."""
        await self._runtime.wait(self._session.settle())

    def block_until_calls_end(self) -> None:
        """Wait until no call is in progress, for callers without an event loop."""
        self._runtime.call(self._session.settle())

    @property
    def points(self) -> float:
        return self._contest.scoreboard()[0].points

    @property
    def points_share(self) -> float:
        """Return the share of the points so far, in [0, 1]. Only full marks are exactly 1."""
        if self._contest.has_solved(_ALONE, self.label):
            return 1.0
        max_points = self.statement.points_max
        return min(self.points / max_points, math.nextafter(1.0, 0.0)) if max_points else 0.0

    @property
    def is_done(self) -> bool:
        """Return True if the participant has full marks or may submit nothing more."""
        (problem_state,) = self._session.problems()
        return self.points_share == 1 or problem_state.submissions_left == 0 or self._contest.is_over

    def make_summary(self) -> dict[str, Any]:
        """Return the state as plain values."""
        return {
            "problem": self.label,
            "points": self.points,
            "max_points": self.statement.points_max,
            "share": self.points_share,
            "done": self.is_done,
            "submissions": self.submission_count,
            **({"unjudged": self.unjudged_reason} if self.unjudged_reason else {}),
        }

    async def _call_tool(self, tool: Tool, *positional: Any, **keywords: Any) -> dict[str, Any]:
        """Call a tool of the contest for the episode's problem, and return its reply."""
        return convert_reply_to_dict(
            await self._runtime.wait(
                self._await_and_count_repeats(tool(self._session, self.label, *positional, **keywords))
            )
        )

    async def _await_and_count_repeats(self, call: Coroutine[Any, Any, Struct]) -> Struct:
        """Return the call's reply. Counts submissions that repeat an earlier program."""
        reply = await call
        if isinstance(reply, SubmissionReply):
            self._repeated_submissions += reply.repeats
        return reply

    run = make_tool_method(run)
    test = make_tool_method(test)
    submit = make_tool_method(submit)


def convert_reply_to_dict(reply: Struct) -> dict[str, Any]:
    """Return a reply as plain values, without fields that are None."""
    all_values: dict[str, Any] = to_builtins(reply)
    return {name: value for name, value in all_values.items() if value not in (None, "", (), [], {})}
