"""The corpus of the fuzz targets, and a short run of each target. tools/fuzz starts long runs."""

from __future__ import annotations

import hashlib
import io
import os
import re
import subprocess
import tarfile
from pathlib import Path

import pytest
from requirements import skip_or_fail_in_ci

TOP = Path(__file__).parents[2]
CORPUS = TOP / "tests" / "fuzz" / "corpus.tar.gz"
TARGETS = {"json", "plan", "spec", "checker_result", "verdict", "printable", "comparison"}
RUNS = 2000
_FINDS_CLANG = f"source {TOP}/scripts/common.sh; fuzzing_clang"


def has_clang() -> bool:
    return subprocess.run(["bash", "-c", _FINDS_CLANG], capture_output=True).returncode == 0


def fuzz(*arguments: object, corpus: Path = CORPUS, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run tools/fuzz, and return its output and exit code."""
    return subprocess.run(
        [TOP / "tools" / "fuzz", *map(str, arguments)],
        env={**os.environ, "IOI_EVAL_FUZZ_CORPUS": str(corpus)},
        cwd=cwd,
        capture_output=True,
        text=True,
    )


def inputs(corpus: Path) -> dict[str, bytes]:
    with tarfile.open(corpus) as archive:
        files = [member for member in archive if member.isfile()]
        return {member.name: archive.extractfile(member).read() for member in files}  # type: ignore[union-attr]


def test_fuzz_corpus_has_inputs_for_every_target() -> None:
    corpus_inputs = inputs(CORPUS)
    assert {name.partition("/")[0] for name in corpus_inputs} == TARGETS
    assert all(
        name.endswith(f"/{hashlib.sha1(content).hexdigest()}") for name, content in corpus_inputs.items()
    )


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """Return a small corpus with an input for each target."""
    archive_path = tmp_path / "corpus.tar.gz"
    with tarfile.open(archive_path, "w:gz") as archive:
        for target in sorted(TARGETS):
            member = tarfile.TarInfo(f"{target}/{hashlib.sha1(target.encode()).hexdigest()}")
            member.size = len(target)
            archive.addfile(member, io.BytesIO(target.encode()))
    return archive_path


def test_new_input_is_added_to_the_fuzz_corpus(tmp_path: Path, corpus: Path) -> None:
    inputs_before = inputs(corpus)
    (tmp_path / "crash").write_bytes(b"not yet known")
    assert fuzz("--add", "plan", "crash", corpus=corpus, cwd=tmp_path).returncode == 0
    added = f"plan/{hashlib.sha1(b'not yet known').hexdigest()}"
    assert inputs(corpus) == inputs_before | {added: b"not yet known"}

    packed = corpus.read_bytes()
    assert fuzz("--add", "plan", "crash", corpus=corpus, cwd=tmp_path).returncode == 0
    assert corpus.read_bytes() == packed


@pytest.mark.parametrize("arguments", ["--add plans crash", "--add plan", "--ad"])
def test_invalid_fuzz_arguments_leave_the_corpus_unchanged(
    tmp_path: Path, corpus: Path, arguments: str
) -> None:
    bytes_before = corpus.read_bytes()
    assert fuzz(*arguments.split(), corpus=corpus, cwd=tmp_path).returncode == 2
    assert corpus.read_bytes() == bytes_before


@pytest.mark.nightly
def test_fuzz_targets_compile_with_the_proctor_sources(tmp_path: Path) -> None:
    """The targets are rarely built. This test fails at once if a function of the proctor has changed."""
    checked = fuzz("--syntax", cwd=tmp_path)
    assert checked.returncode == 0, checked.stderr


@pytest.mark.nightly
def test_every_fuzz_target_passes(tmp_path: Path) -> None:
    if not has_clang():
        skip_or_fail_in_ci("without clang and libFuzzer nothing is fuzzed")
    process = fuzz("--runs", RUNS, cwd=tmp_path)
    assert process.returncode == 0, process.stdout + process.stderr
    executions = dict(re.findall(r"^(\w+) +([0-9]+) executions", process.stdout, re.MULTILINE))
    assert set(executions) == TARGETS
    assert all(int(runs) >= RUNS for runs in executions.values()), process.stdout
