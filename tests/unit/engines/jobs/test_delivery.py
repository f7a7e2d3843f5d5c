from __future__ import annotations

import base64
import gzip
import random
import subprocess
from pathlib import Path

import pytest

from ioi_eval.engines.jobs.http_delivery import (
    make_artifact_printing_script,
    make_one_stage_build_script,
    parse_build_output,
    was_killed_while_compiling,
)
from ioi_eval.errors import BrokenReply, JudgeFailure
from ioi_eval.models import Blob, Ending, StageStatus
from ioi_eval.rules.verdicts import BuildEnding, classify_build

CONTENT = random.Random(7).randbytes(5000)


def ran(folder: Path, script: str) -> Ending:
    completed = subprocess.run(["bash", "-c", script], cwd=folder, capture_output=True, check=False)
    return Ending(
        stdout=completed.stdout.decode(), stderr=completed.stderr.decode(), code=completed.returncode
    )


def handed_over(folder: Path, most: int | None = None) -> Ending:
    (folder / "made").write_bytes(CONTENT)
    return ran(folder, make_artifact_printing_script("made", most))


def run_build_script(folder: Path, script: str, **limits: float | None) -> Ending:
    (folder / "compile").write_text(script)
    hard, cpu = limits.get("hard_stop", 300.0), limits.get("cpu_time", 30.0)
    return ran(folder, make_one_stage_build_script("made", None, hard_stop_s=hard, cpu_time_s=cpu))


def test_delivered_artifact_equals_built_file(tmp_path: Path) -> None:
    stage = handed_over(tmp_path)
    delivery = parse_build_output(stage)
    assert (delivery.stage, delivery.artifact) == (None, Blob.of(CONTENT))
    assert gzip.decompress(delivery.packed) == CONTENT
    assert stage.stdout.isascii()


def test_one_stage_build_delivers_artifact_or_compiler_output(tmp_path: Path) -> None:
    good = parse_build_output(
        run_build_script(tmp_path, "echo warned; echo badly >&2; printf artifact > made")
    )
    assert (good.stage, good.artifact) == (Ending(code=0, stdout="warned\nbadly\n"), Blob.of("artifact"))
    bad = parse_build_output(run_build_script(tmp_path, "echo wrong; exit 1"))
    assert bad.stage is not None and (bad.stage.stdout, bad.artifact) == ("wrong\n", None)
    assert bad.stage.code == 1 and classify_build(bad.stage) is BuildEnding.REFUSED


@pytest.mark.parametrize(
    ("script", "end"),
    [
        pytest.param("while :; do :; done", BuildEnding.STOPPED, marks=pytest.mark.nightly),
        ("sleep 60", BuildEnding.STOPPED),  # at the hard stop, which the proctor sets
        ("kill -KILL $$", BuildEnding.KILLED),  # by another process
    ],
)
def test_one_stage_build_reports_why_compiler_ended(tmp_path: Path, script: str, end: BuildEnding) -> None:
    stage = parse_build_output(run_build_script(tmp_path, script, hard_stop=0.3)).stage
    assert stage is not None and classify_build(stage) is end


def test_build_without_output_file_raises_broken_reply(tmp_path: Path) -> None:
    with pytest.raises(BrokenReply, match="exit code 91"):
        parse_build_output(run_build_script(tmp_path, "echo nothing"))


FORGED = 'printf "ioi-eval 1 code 0\\nioi-eval 1 artifact 1 %064d 4\\nAAAA\\nioi-eval 1 end\\n" 0'


def test_forged_artifact_header_in_compiler_output_stays_in_log(tmp_path: Path) -> None:
    delivery = parse_build_output(run_build_script(tmp_path, f"{FORGED}; {FORGED} >&2; exit 1"))
    assert delivery.artifact is None
    assert delivery.stage is not None and delivery.stage.code == 1
    assert delivery.stage.stdout.count("ioi-eval 1 artifact") == 2


@pytest.mark.parametrize("length", [10, 60, 200, 1000])
@pytest.mark.parametrize(
    "ended",
    [{"signal": "SIGKILL", "status": StageStatus.OL}, {"signal": "SIGKILL"}],
    ids=["current server", "before isolate"],
)
def test_truncated_delivery_names_output_limit_of_server(
    tmp_path: Path, length: int, ended: dict[str, object]
) -> None:
    cut = Ending(stdout=handed_over(tmp_path).stdout[:length], **ended)  # type: ignore[arg-type]
    with pytest.raises(JudgeFailure, match=r"PISTON_OUTPUT_MAX_SIZE.*, on a worker --set max-output=64mb$"):
        parse_build_output(cut)


def test_delivery_over_known_output_limit_is_not_printed(tmp_path: Path) -> None:
    stage = handed_over(tmp_path, most=600)
    assert len(stage.stdout) < 600
    with pytest.raises(JudgeFailure, match=r"\d+ bytes.*PISTON_OUTPUT_MAX_SIZE"):
        parse_build_output(stage)


def test_timeout_during_delivery_is_judge_failure_naming_run_timeout() -> None:
    with pytest.raises(JudgeFailure, match="PISTON_RUN_TIMEOUT"):
        parse_build_output(Ending(signal="SIGKILL", status=StageStatus.TO))


def test_damaged_delivery_raises_broken_reply(tmp_path: Path) -> None:
    delivery = handed_over(tmp_path).stdout
    middle = len(delivery) // 2
    swapped = delivery[:middle] + ("A" if delivery[middle] != "A" else "B") + delivery[middle + 1 :]
    header, remainder = delivery.split("\n", 1)
    damaged = [
        swapped,
        delivery[:middle],
        delivery[:-5],
        "",
        f"{header[:-3]}x\n{remainder}",
        delivery[:middle] + "\x00" + delivery[middle:],
    ]
    for stdout in damaged:
        with pytest.raises(BrokenReply):
            parse_build_output(Ending(stdout=stdout, code=0))


def test_delivery_with_data_after_gzip_member_is_refused() -> None:
    """The gzip data is sent on unchanged, and other programs could not unpack it."""
    for more in (b"", b"x", gzip.compress(b"more")):
        encoded = base64.encodebytes(gzip.compress(CONTENT) + more).decode()
        head = f"ioi-eval 1 artifact {len(CONTENT)} {Blob.of(CONTENT).sha256} {len(encoded)}\n"
        stage = Ending(stdout=f"{head}{encoded}ioi-eval 1 end\n", code=0)
        if more:
            with pytest.raises(BrokenReply, match="damaged"):
                parse_build_output(stage)
        else:
            assert parse_build_output(stage).artifact == Blob.of(CONTENT)


def test_kill_before_compiler_exit_code_counts_as_kill_while_compiling() -> None:
    killed = Ending(signal="SIGKILL")
    assert was_killed_while_compiling(killed)
    assert not was_killed_while_compiling(Ending(stdout="ioi-eval 1 code 0\n", signal="SIGKILL"))
    assert not was_killed_while_compiling(Ending(code=91))
