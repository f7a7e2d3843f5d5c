"""No reply to a participant contains hidden tests, graders, files or tokens."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from attacks_contest import ASKING, Asking
from support.contest_problems import PROBLEMS, SECRET, find_hidden_strings

from ioi_eval import EmbeddedEngine, Scorer, Store
from ioi_eval.plugins.contest import Contest, RefusedCall, Rules, Session, UnjudgedCall


@pytest.fixture
def hidden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Write secret files of the judge's user, and set a secret environment variable."""
    monkeypatch.setenv("IOI_EVAL_MCP_TOKEN", SECRET)
    paths = []
    for name in ("tokens.tsv", "results.jsonl", "turns.jsonl", "hidden.in"):
        (tmp_path / name).write_text(f"{SECRET}\n")
        (tmp_path / name).chmod(0o600)
        paths.append(tmp_path / name)
    return paths


@pytest.fixture
async def session(store: Store) -> AsyncIterator[Session]:
    async with Scorer(EmbeddedEngine(store=store), store=store) as scorer:
        rules = Rules(output_bytes=1 << 16)
        yield Contest(PROBLEMS, rules, judge=scorer.judge).session("otter")


@pytest.mark.nightly(unless="^(opens-known-paths|asks-the-server|includes-the-judges-grader)$")
@pytest.mark.parametrize("asking", ASKING, ids=lambda one: one.name)
async def test_replies_contain_no_secret(asking: Asking, session: Session, hidden: list[Path]) -> None:
    code = asking.code.replace("PATH", str(hidden[0]))
    replies = [session.statement(asking.problem), session.standing()]
    refusals = []
    with socket.create_server(("127.0.0.1", 0)) as listening:
        program_input = "\n".join([*map(str, hidden), "/proc/self/environ", str(listening.getsockname()[1])])
        for call in (
            session.run(asking.problem, code, asking.language, input=program_input),
            session.test(asking.problem, code, asking.language),
            session.submit(asking.problem, code, asking.language),
        ):
            try:
                replies.append(await call)
            except (RefusedCall, UnjudgedCall) as error:
                refusals.append(str(error))
    assert not [item for item in refusals if "judge failed" in item], "it has an answer, or a refusal"
    assert not find_hidden_strings(*replies, *refusals)
    (submitted,) = [item for item in replies if type(item).__name__ == "SubmissionReply"]
    assert submitted.slowest_seconds is None
    assert submitted.points == 0
