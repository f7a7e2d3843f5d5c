"""Requests that were recorded from a current server get the same replies, except for times and memory."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from http_calls import JSON, PistonServer, Reply, lacks
from support.piston_protocol import decode_reply

from ioi_eval.rules.verdicts import classic_outcome, classic_result

FOLDER = Path(__file__).parents[1] / "unit" / "engines" / "jobs" / "piston_samples"
SAMPLES = {path.stem: json.loads(path.read_text()) for path in sorted(FOLDER.glob("*.json"))}
MEASURED = ("cpu_time", "wall_time", "memory")
SPECIAL = {
    "box_seen_from_inside",
    "not_json",
    "memory_limit",
    "runtimes",
    "file_escape",
    "wrong_content_type",
}
CLASSIC = [name for name in SAMPLES if name.startswith("classic_")]
PLAIN = [
    name for name in SAMPLES if not name.startswith(("old_", "stock_", "classic_")) and name not in SPECIAL
]


def send_sample(piston: PistonServer, name: str) -> Reply:
    request = SAMPLES[name]["request"]
    asked_for = request["body"]
    if name == "timeout_above_limit" and not piston.ours:
        asked_for = {**asked_for, "run_timeout": 1 << 40}  # above any server's limit
    if name == "file_in_folder" and not piston.is_current:
        # On such a server, a job may write only into the innermost folder of a file, not into its parents.
        asked_for = {**asked_for, "files": [*asked_for["files"], {"name": "a/door", "content": ""}]}
    body = None if asked_for is None else json.dumps(asked_for).encode()
    return piston.call(request["method"], request["path"], body, JSON if body else None)


def without_sandbox_details(text: str) -> str:
    """Return output without parts that differ between sandboxes: owners, dates, script names, process ids."""
    text = re.sub(r"(-rw-r--r-- 1) \S+ \S+ +(\d+) \w+ +\d+ \d\d:\d\d", r"\1 \2", text)
    return re.sub(r"(?m)^\S+: line \d+: +\d+ (.*?)  .*$", r"\1", text)


def comparable(told: dict[str, Any], fields: set[str]) -> dict[str, Any]:
    """Return the parts of a stage that all servers report alike."""
    fields_to_compare = {
        name: value for name, value in told.items() if name in fields and name not in MEASURED
    }
    return {
        name: without_sandbox_details(value) if isinstance(value, str) else value
        for name, value in fields_to_compare.items()
    }


@pytest.mark.parametrize("name", PLAIN)
def test_recorded_requests_get_the_recorded_replies(piston: PistonServer, name: str) -> None:
    expected_reply, got = SAMPLES[name]["response"], send_sample(piston, name)
    if expected_reply["status"] == 200:
        piston.able(got)
    assert (got.status, got.kind) == (expected_reply["status"], expected_reply["content_type"]), got
    if expected_reply["status"] != 200:
        message, expected = (body["message"] for body in (got.body, expected_reply["body"]))
        if not piston.ours:  # servers have different limits
            message, expected = (re.sub(r"limit of \d+", "limit", string) for string in (message, expected))
        assert message == expected
        return
    assert got.body.keys() == expected_reply["body"].keys()
    stage, recorded = got.body["run"], expected_reply["body"]["run"]
    fields = set(recorded) if piston.ours else set(recorded) & set(stage)
    if not piston.ours and name == "cpu_timeout":
        fields -= {"message"}  # on a busy machine, the program may exceed the wall-clock limit instead
    assert comparable(stage, fields) == comparable(recorded, fields)
    if piston.is_current:
        assert stage.keys() == recorded.keys()
        number = int if piston.ours else int | float  # seconds times 1000, not rounded
        assert all(isinstance(stage[field], number) for field in MEASURED)
    if piston.ours:
        assert (got.body["language"], got.body["version"]) == ("bash", "5.2.0")


@pytest.mark.nightly(unless="^(?!classic_tle$)")  # test_classic tests this, and it is slow
@pytest.mark.parametrize("name", CLASSIC)
def test_recorded_classic_jobs_get_equivalent_replies(piston: PistonServer, name: str) -> None:
    """The wording of feedback differs, but its meaning by the contract is the same."""
    piston.needs("cms_ioi")
    expected_reply, got = SAMPLES[name]["response"], piston.able(send_sample(piston, name))
    assert (got.status, got.kind) == (expected_reply["status"], expected_reply["content_type"])
    assert got.body.keys() == expected_reply["body"].keys()
    for field in ("language", "version"):
        assert got.body[field] == expected_reply["body"][field]
    for phase in ("compile", "run"):
        stage, recorded = got.body[phase], expected_reply["body"][phase]
        if piston.is_current:
            assert stage.keys() == recorded.keys()
        for field in ("code", "signal", "message", "status"):
            assert stage.get(field) == recorded[field] or field not in stage, (phase, field)
        assert of_problem(stage["stdout"]) == of_problem(recorded["stdout"]), phase
        assert last_words(stage["stderr"]) == last_words(recorded["stderr"]), phase
    assert outcome(got.body) == outcome(expected_reply["body"])


def of_problem(text: str) -> str:
    """Return output without the folder of the job."""
    return re.sub(r"/\S*/checker/", "/checker/", text)


def last_words(text: str) -> str:
    """Return the feedback without its explanation."""
    line = (text.strip().splitlines() or [""])[-1]
    return re.sub(r" \(.*\)$", "", line)


def outcome(body: dict[str, Any]) -> tuple[float, str]:
    result = decode_reply(200, json.dumps(body).encode())
    test = classic_result("1", *classic_outcome(result))
    return test.score, test.status


def test_reply_shows_failed_compile_stage_as_run_stage_too(piston: PistonServer) -> None:
    piston.needs("cms_ioi")
    body = piston.able(send_sample(piston, "classic_ce")).body
    assert body["run"] == body["compile"]


def test_recorded_languages_are_listed(piston: PistonServer) -> None:
    if not piston.ours:
        pytest.skip("servers have different packages installed")
    got = send_sample(piston, "runtimes")
    assert (got.status, got.kind) == (200, "application/json; charset=utf-8")
    recorded = [entry for entry in SAMPLES["runtimes"]["response"]["body"] if not lacks(entry["language"])]
    assert len(recorded) >= 10
    assert [entry for entry in recorded if entry not in got.body] == []


def test_body_that_is_not_json_gets_status_400_with_stack(piston: PistonServer) -> None:
    reply = piston.call("POST", "/execute", b"{nope", JSON)
    assert reply.status == 400
    assert reply.body.keys() == {"stack"} and reply.body["stack"].startswith("SyntaxError")


def test_body_without_json_content_type_is_refused(piston: PistonServer) -> None:
    reply = piston.call("POST", "/execute", b"{}", {"Content-Type": "text/plain"})
    expected_reply = SAMPLES["wrong_content_type"]["response"]
    assert (reply.status, reply.body) == (expected_reply["status"], expected_reply["body"])


def test_file_name_outside_sandbox_gets_status_500(piston: PistonServer) -> None:
    reply = send_sample(piston, "file_escape")
    assert (reply.status, reply.body) == (500, "")


def test_memory_limit_is_enforced(piston: PistonServer) -> None:
    """Servers differ in whether they kill the process or the whole job."""
    run = piston.execute(**SAMPLES["memory_limit"]["request"]["body"]).body["run"]
    assert run["signal"] == "SIGKILL" or "after=0" not in run["stdout"]
