from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from journal_rows import MADE_OF, failure, keys, row

from ioi_eval.errors import InputError
from ioi_eval.store import files as journal_files
from ioi_eval.store.folder import Fingerprint, list_fingerprint_changes, read_failures, read_info
from ioi_eval.store.result_log import ResultLog


def failed_lines(folder: Path) -> list[tuple[str, str]]:
    rows = [json.loads(line) for line in (folder / "failures.jsonl").read_text().splitlines()]
    return [(row["key"], row["reason"]) for row in rows]


# --- writing and going on ----------------------------------------------------------------------------


def test_recorded_results_are_loaded_by_the_next_process(scored: Path) -> None:
    with ResultLog.open(scored, MADE_OF) as journal:
        assert journal.done == {"a1", "a2", "a3"}
        journal.record_result(row("a4"))
    assert keys(scored) == ["a1", "a2", "a3", "a4"]
    assert sorted(path.name for path in scored.iterdir()) == [
        ".lock",
        "failures.jsonl",
        "results.jsonl",
        "run.json",
    ]


def test_second_result_of_a_key_is_refused(scored: Path) -> None:
    with ResultLog.open(scored, MADE_OF) as journal, pytest.raises(ValueError, match="a1"):
        journal.record_result(row("a1"))
    assert keys(scored) == ["a1", "a2", "a3"]


def test_equal_submission_of_earlier_process_is_found(scored: Path) -> None:
    with ResultLog.open(scored, MADE_OF) as journal:
        journal.record_result(row("a4"))
        for key in ("a2", "a4"):
            assert journal.find_result(row(key)["submission_sha256"], "") == row(key)
        assert journal.find_result("00", "") is None


def test_folder_is_unchanged_before_the_first_row(folder: Path) -> None:
    with ResultLog.open(folder, MADE_OF):
        assert folder.is_dir()
    assert not folder.exists()
    folder.mkdir(parents=True)
    with ResultLog.open(folder, MADE_OF):
        pass
    assert list(folder.iterdir()) == []


def test_started_run_without_rows_has_run_json(folder: Path) -> None:
    with ResultLog.open(folder, MADE_OF, settings={"engine": "fake"}) as journal:
        journal.start_run()
    info = read_info(folder)
    assert info is not None and info.settings == {"engine": "fake"} and info.fingerprint.dump == MADE_OF.dump
    assert (folder / "results.jsonl").read_bytes() == b"" == (folder / "failures.jsonl").read_bytes()


def test_continuing_a_run_without_new_rows_changes_no_file(scored: Path) -> None:
    contents_before = {path: path.read_bytes() for path in scored.iterdir() if path.name != ".lock"}
    with ResultLog.open(scored, MADE_OF, settings={"workers": 3}) as journal:
        journal.start_run()
    assert {path: path.read_bytes() for path in scored.iterdir() if path.name != ".lock"} == contents_before


def test_settings_that_json_cannot_hold_are_converted(folder: Path) -> None:
    options = {"path": Path("x"), "odd": "\udcff", "nan": float("nan")}
    for _ in range(2):
        with ResultLog.open(folder, Fingerprint(dump="d", options=options), settings=options) as journal:
            journal.record_result(row(f"a{len(journal.done)}"))
    info = read_info(folder)
    assert info is not None and info.settings == {"path": "x", "odd": "\ufffd", "nan": None}


# --- failures ----------------------------------------------------------------------------------------


def test_failures_are_removed_when_they_are_judged(folder: Path) -> None:
    with ResultLog.open(folder, MADE_OF) as journal:
        for key in ("a1", "a2", "a3"):
            journal.record_failure(failure(key))
    with ResultLog.open(folder, MADE_OF) as journal:
        assert journal.failed == {"a1", "a2", "a3"} and journal.done == set()
        journal.record_result(row("a2"))
        journal.record_failure(failure("a3", "again"))
        assert journal.failed == {"a1", "a3"}
        assert [key for key, _ in failed_lines(folder)] == ["a1", "a2", "a3", "a3"]
    assert failed_lines(folder) == [("a1", "why"), ("a3", "again")]


def test_failures_stay_if_the_run_is_not_restarted(folder: Path) -> None:
    with ResultLog.open(folder, MADE_OF) as journal:
        journal.record_failure(failure("a1"))
    path = folder / "failures.jsonl"
    path.write_bytes(2 * path.read_bytes())  # as after a killed writer
    failures_before = path.read_bytes()
    with ResultLog.open(folder, msgspec.structs.replace(MADE_OF, options={"all_tests": True})) as journal:
        assert not journal.failed
    assert path.read_bytes() == failures_before


def test_superseding_rows_leaves_no_open_file(scored: Path) -> None:
    def open_files() -> list[str]:
        targets = [str(link.readlink()) for link in Path("/proc/self/fd").iterdir() if link.is_symlink()]
        return [target for target in targets if target.startswith(str(scored))]

    with ResultLog.open(scored, MADE_OF) as journal:
        journal.mark_superseded("a1")
        journal.start_run()
        assert journal.done == {"a2", "a3"}
        assert open_files()
    assert open_files() == []


def test_failure_is_removed_when_its_submission_is_judged(folder: Path) -> None:
    with ResultLog.open(folder, MADE_OF) as journal:
        journal.record_failure(failure("a1"))
    with ResultLog.open(folder, MADE_OF) as journal:
        journal.record_result(row("a1"))
    assert failed_lines(folder) == []


def test_stale_failure_of_judged_submission_is_dropped(folder: Path) -> None:
    with ResultLog.open(folder, MADE_OF) as journal:
        journal.record_failure(failure("a1"))
        journal.record_failure(failure("a2"))
    stale = (folder / "failures.jsonl").read_bytes()
    with ResultLog.open(folder, MADE_OF) as journal:
        journal.record_result(row("a1"))
    (folder / "failures.jsonl").write_bytes(stale)
    with ResultLog.open(folder, MADE_OF) as journal:
        assert journal.failed == {"a2"}
    assert failed_lines(folder) == [("a2", "why")]
    assert list(read_failures(folder)) == ["a2"]


# --- broken files ------------------------------------------------------------------------------------


@given(st.data())
def test_incomplete_last_line_is_removed(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("torn") / "run"
    with ResultLog.open(folder, MADE_OF) as journal:
        for key in ("a1", "a2"):
            journal.record_result(row(key, long="x" * data.draw(st.sampled_from([0, 70_000]))))
    results = folder / "results.jsonl"
    content = results.read_bytes()
    results.write_bytes(content[: data.draw(st.integers(0, len(content)))])
    whole = results.read_bytes().count(b"\n")
    assert keys(folder) == ["a1", "a2"][:whole]
    with ResultLog.open(folder, MADE_OF) as journal:
        for key in sorted({"a1", "a2"} - set(journal.done)):
            journal.record_result(row(key))
    assert keys(folder) == ["a1", "a2"]


@pytest.mark.parametrize("broken", [b"{", b"", b'{"no":"key"}', b'{"key":"\xff"}', b"\0\0\0"])
def test_malformed_result_line_is_input_error_with_line_number(scored: Path, broken: bytes) -> None:
    results = scored / "results.jsonl"
    make_shell_lines = results.read_bytes().split(b"\n")
    results.write_bytes(b"\n".join([make_shell_lines[0], broken, *make_shell_lines[1:]]))
    content = results.read_bytes()
    with pytest.raises(InputError, match="the line is not a valid result") as caught:
        ResultLog.open(scored, MADE_OF)
    assert caught.value.row == 2 and caught.value.where == str(results) and caught.value.remedy
    assert results.read_bytes() == content
    with ResultLog.open(scored, MADE_OF, discards_earlier_run=True) as journal:
        journal.record_result(row("b1"))
    assert keys(scored) == ["b1"]


def test_duplicate_key_in_results_is_input_error(scored: Path) -> None:
    with (scored / "results.jsonl").open("ab") as stream:
        stream.write(msgspec.json.encode(row("a2")) + b"\n")
    with pytest.raises(InputError, match="duplicate key 'a2'"):
        ResultLog.open(scored, MADE_OF)


def test_results_file_without_run_json_is_not_overwritten(folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / "results.jsonl").write_text('{"key":"of another program"}\n')
    for fresh in (False, True):
        with pytest.raises(InputError, match=r"run\.json is missing, but it contains results\.jsonl"):
            ResultLog.open(folder, MADE_OF, discards_earlier_run=fresh)
    assert (folder / "results.jsonl").read_text() == '{"key":"of another program"}\n'
    assert [path.name for path in folder.iterdir()] == ["results.jsonl"]


@pytest.mark.parametrize(
    "content", [b"{", b"[]", b'{"fingerprint":{"dump":"\xe9"}}', b'{"fingerprint":{"dump":"a"},"version":99}']
)
def test_invalid_run_json_is_refused(folder: Path, content: bytes) -> None:
    folder.mkdir(parents=True)
    (folder / "run.json").write_bytes(content)
    with pytest.raises(InputError, match=r"run\.json"):
        ResultLog.open(folder, MADE_OF)


def test_folder_that_cannot_be_created_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be written"):
        ResultLog.open(tmp_path / "file" / "run", MADE_OF)
    with pytest.raises(InputError, match="cannot be written"):
        ResultLog.open(tmp_path / "file", MADE_OF)


def test_full_disk_leaves_only_complete_lines(scored: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write
    with ResultLog.open(scored, MADE_OF) as journal:
        journal.record_result(row("a4"))
        with monkeypatch.context() as patch, pytest.raises(InputError, match="No space left"):
            patch.setattr(os, "write", lambda descriptor, data: write(descriptor, data[: len(data) // 2]))
            journal.record_result(row("a5"))
        assert "a5" not in journal.done
        journal.record_result(row("a6"))
    assert keys(scored) == ["a1", "a2", "a3", "a4", "a6"]


# --- a single writer ---------------------------------------------------------------------------------


def test_second_process_in_the_same_folder_is_refused(scored: Path) -> None:
    with ResultLog.open(scored, MADE_OF) as journal:
        journal.record_result(row("a4"))
        for fresh in (False, True):
            with pytest.raises(
                InputError, match=rf"another process \(pid {os.getpid()}\) is writing this run"
            ):
                ResultLog.open(scored, MADE_OF, discards_earlier_run=fresh)
    with ResultLog.open(scored, MADE_OF) as journal:
        assert "a4" in journal.done


def test_lock_on_a_removed_lock_file_is_retried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process removes and unlocks the file after this process opens and before it locks the file."""
    path = tmp_path / "lock"
    flock, calls = journal_files.fcntl.flock, []

    def late(descriptor: int, operation: int) -> None:
        if not calls:
            path.unlink()
        calls.append(operation)
        flock(descriptor, operation)

    monkeypatch.setattr(journal_files.fcntl, "flock", late)
    with journal_files.Lock(path):
        assert len(calls) == 2 and path.exists()
        with pytest.raises(InputError):
            journal_files.Lock(path).__enter__()


# --- fingerprint of the run --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"options": {"all_tests": True, "repairs": ["header"]}}, "option all-tests: false -> true"),
        ({"options": {"all_tests": False}}, 'option repairs: ["header"] -> not set'),
        ({"versions": {"g++": "13.1.0"}}, "version of g++: 12.2.0 -> 13.1.0"),
    ],
)
def test_changed_run_setting_is_refused_and_named(
    scored: Path, changed: dict[str, Any], expected: str
) -> None:
    other = msgspec.structs.replace(MADE_OF, **changed)
    assert list_fingerprint_changes(MADE_OF, other) == (expected,)
    settings_before = (scored / "run.json").read_bytes()
    with pytest.raises(InputError) as caught:
        ResultLog.open(scored, other)
    assert expected in str(caught.value) and "fresh=True" in caught.value.remedy
    assert (scored / "run.json").read_bytes() == settings_before and keys(scored) == ["a1", "a2", "a3"]
    with ResultLog.open(scored, MADE_OF) as journal:  # the lock was released
        assert len(journal.done) == 3


def test_all_changed_settings_are_named(scored: Path) -> None:
    other = Fingerprint(dump="z", options={"new": 1})
    with pytest.raises(InputError) as caught:
        ResultLog.open(scored, other)
    for setting in ("option all-tests", "option new: not set -> 1", "version of g++"):
        assert setting in caught.value.problem


def test_run_accepts_additional_problems(folder: Path) -> None:
    for problems in ({"sum": "1"}, {"tree": "2"}, {"sum": "1", "tree": "2"}):
        with ResultLog.open(folder, Fingerprint(dump="d", problems=problems)) as journal:
            journal.record_result(row(f"a{len(journal.done)}"))
    info = read_info(folder)
    assert info is not None and info.fingerprint.problems == {"sum": "1", "tree": "2"}


def test_run_with_only_failures_accepts_changed_options(folder: Path) -> None:
    with ResultLog.open(folder, MADE_OF) as journal:
        journal.record_failure(failure("a1"))
    other = msgspec.structs.replace(MADE_OF, options={"all_tests": True})
    with ResultLog.open(folder, other) as journal:
        assert journal.failed == set()
        journal.record_result(row("b1"))
    assert failed_lines(folder) == []
    info = read_info(folder)
    assert info is not None and info.fingerprint.options == {"all_tests": True}


def test_folder_with_other_files_is_refused(folder: Path) -> None:
    folder.mkdir(parents=True)
    for name in (".hidden", "generations.jsonl"):
        (folder / name).write_text("")
    ResultLog.open(folder, MADE_OF).close()
    for name in ("thesis.tex", "b", "c", "d"):
        (folder / name).write_text("")
    files_before = sorted(folder.iterdir())
    for fresh in (False, True):
        with pytest.raises(
            InputError, match=r"has no run.* it contains b, c, d, \.\.\.\. Choose a new or empty"
        ):
            ResultLog.open(folder, MADE_OF, discards_earlier_run=fresh)
    assert sorted(folder.iterdir()) == files_before
