"""Damaged archives, replies, dumps and packages are read, or refused with a typed error."""

from __future__ import annotations

import contextlib
import shutil
import stat
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.datasets import Problems, check_problems, open_dump
from support.piston_protocol import (
    RefusedRequest,
    decode_language_and_version,
    decode_reply,
    decode_request,
    decode_runtimes,
)
from support.proctor_protocol import decode_lines

from ioi_eval import Store
from ioi_eval.engines.jobs.http_delivery import parse_build_output
from ioi_eval.errors import BrokenReply, EngineError, InputError, JudgeFailure
from ioi_eval.models import Blob, Ending, Problem, Test
from ioi_eval.problems.archive import ArchiveLimits, extract_archive

EXAMPLES = Path(__file__).parents[2] / "examples"
SAMPLES = sorted((Path(__file__).parents[1] / "unit" / "engines" / "jobs" / "piston_samples").glob("*.json"))
LIMITS = ArchiveLimits(total=1 << 20, files=50, ratio_from=1 << 16)

damage = st.lists(st.tuples(st.integers(0, 1 << 16), st.integers(0, 255)), max_size=6)
NAMES = st.one_of(
    st.sampled_from(
        ["a", "a/b", "../a", "/etc/a", "a/../../b", "C:a", "a\\b", ".", "..", "", "a\x00b", "a\nb", "x" * 300]
    ),
    st.integers(1, 6).map(lambda levels: "../" * levels + "out"),
    st.text(max_size=12),
)
KINDS = st.sampled_from([0, stat.S_IFREG, stat.S_IFDIR, stat.S_IFLNK, stat.S_IFCHR, stat.S_IFIFO])
MEMBERS = st.lists(st.tuples(NAMES, KINDS, st.binary(max_size=40)), max_size=6)
LINE = st.text(alphabet='{}[]":,0123456789eE.-+\\ntrufalsdoevcxp', max_size=60)

quick = settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


def damaged(content: bytes, changes: list[tuple[int, int]], keep: float = 1.0) -> bytes:
    whole = bytearray(content[: int(len(content) * keep)])
    for offset, value in changes:
        if whole:
            whole[offset % len(whole)] = value
    return bytes(whole)


# --- archives ----------------------------------------------------------------------------------------


def everything_below(folder: Path) -> set[Path]:
    return {path.relative_to(folder) for path in folder.rglob("*")}


def check_extraction(place: Path, archive: Path) -> None:
    paths_before = everything_below(place)
    try:
        folder, pin = extract_archive(archive, Store(place / "cache"), LIMITS)
    except InputError:
        assert Store(place / "cache").size() == 0
        return
    with pin:
        assert all(not path.is_symlink() and folder in path.parents for path in folder.rglob("*"))
    assert {path for path in everything_below(place) if path.parts[0] != "cache"} <= paths_before


@quick
@given(MEMBERS)
def test_zip_with_any_members_is_extracted_safely(
    tmp_path_factory: pytest.TempPathFactory, members: Any
) -> None:
    folder = tmp_path_factory.mktemp("zip")
    with zipfile.ZipFile(folder / "x.zip", "w") as archive, contextlib.suppress(UnicodeEncodeError):
        for name, kind, content in members:
            info = zipfile.ZipInfo(name)
            info.filename = info.orig_filename = name  # unchanged: the constructor repairs names
            info.external_attr = (kind | 0o777) << 16
            with pytest.warns() if name in archive.namelist() else contextlib.nullcontext():
                archive.writestr(info, content)
    check_extraction(folder, folder / "x.zip")
    shutil.rmtree(folder)


@quick
@given(damage, st.floats(0, 1))
def test_damaged_zip_is_extracted_safely(
    tmp_path_factory: pytest.TempPathFactory, changes: Any, keep: float
) -> None:
    folder = tmp_path_factory.mktemp("zip")
    with zipfile.ZipFile(folder / "good.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("p/problem.json", "{}" * 50)
        archive.writestr("p/tests/1.in", "1 2 3\n" * 20)
    (folder / "x.zip").write_bytes(damaged((folder / "good.zip").read_bytes(), changes, keep))
    check_extraction(folder, folder / "x.zip")
    shutil.rmtree(folder)


# --- replies of servers and proctors -----------------------------------------------------------------


@quick
@given(st.lists(LINE, max_size=5), st.booleans())
def test_arbitrary_verdict_lines_are_decoded_or_refused(lines: list[str], ours: bool) -> None:
    report = "\n".join(f'{{"v":2,"nonce":"n"{content}' if ours else content for content in lines)
    with contextlib.suppress(BrokenReply):
        assert all(line.nonce == "n" for line in decode_lines(report + "\n", "n"))


@quick
@given(st.sampled_from(SAMPLES), damage, st.floats(0, 1), st.sampled_from([200, 400, 404, 500, 503]))
def test_damaged_replies_and_requests_are_decoded_or_refused(
    sample: Path, changes: Any, keep: float, status: int
) -> None:
    body = damaged(sample.read_bytes(), changes, keep)
    for decode in (decode_reply, decode_runtimes):
        with contextlib.suppress(EngineError):
            decode(status, body)
    with contextlib.suppress(RefusedRequest):
        decode_request(body)
    with contextlib.suppress(RefusedRequest):
        decode_language_and_version(body)


@quick
@given(st.text(max_size=200), st.booleans())
def test_arbitrary_deliveries_are_read_or_refused(said: str, killed: bool) -> None:
    stage = Ending(stdout=said, code=None if killed else 0, signal="SIGKILL" if killed else None)
    with contextlib.suppress(EngineError, JudgeFailure):
        parse_build_output(stage)


# --- dumps and packages ------------------------------------------------------------------------------

PROBLEMS = Problems([Problem(id="p", tests=(Test(name="1", input=Blob.of("1")),))])


def check_dump(path: Path) -> None:
    with contextlib.suppress(InputError):
        for submission in open_dump([path], problems=PROBLEMS):
            assert submission.problem_id == "p"


@quick
@given(damage, st.floats(0, 1), st.sampled_from([".jsonl", ".json", ".csv"]))
def test_damaged_dump_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, changes: Any, keep: float, suffix: str
) -> None:
    good = {
        ".jsonl": b'{"problem_id": "p", "generation": "```cpp\\nint main() {}\\n```", "year": 2024}\n' * 2,
        ".json": b'[{"problem_id": "p", "code": "int main() {}"}, {"problem_id": "p", "code": null}]',
        ".csv": b'problem_id,code,language\np,"int main() {}",c++\np,"print(1)",python\n',
    }
    path = tmp_path_factory.mktemp("dump") / f"x{suffix}"
    path.write_bytes(damaged(good[suffix], changes, keep))
    check_dump(path)


@quick
@given(damage, st.floats(0.5, 1))
def test_damaged_parquet_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, changes: Any, keep: float
) -> None:
    import pyarrow
    import pyarrow.parquet

    path = tmp_path_factory.mktemp("dump") / "x.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"problem_id": ["p"] * 9, "code": ["int main() {}"] * 9}), path)
    path.write_bytes(damaged(path.read_bytes(), changes, keep))
    check_dump(path)


@quick
@given(st.sampled_from(["lanterns", "relay", "calm"]), st.data())
def test_damaged_package_is_loaded_or_has_errors(
    tmp_path_factory: pytest.TempPathFactory, name: str, data: st.DataObject
) -> None:
    package = tmp_path_factory.mktemp("package") / name
    shutil.copytree(EXAMPLES / "problems" / name, package)
    small = sorted(
        path for path in package.rglob("*") if path.suffix in {".json", ".yaml", ""} and path.is_file()
    )
    victim = data.draw(st.sampled_from(small), label="file")
    victim.write_bytes(damaged(victim.read_bytes(), data.draw(damage), data.draw(st.floats(0, 1))))
    for result in check_problems(package, cache=package.parent / "cache"):
        assert (result.problem is None) is bool(result.errors)
    shutil.rmtree(package)
