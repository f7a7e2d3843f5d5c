"""LiveCodeBench: rows become problems. Pickled tests are parsed without executing them."""

from __future__ import annotations

import base64
import os
import pickle
import zlib
from pathlib import Path
from typing import Any

import pytest
from dump_rows import write_jsonl
from hub_rows import ADD, contents, lcb_tests, livecodebench, loaded, packed, write_rows
from hypothesis import given
from hypothesis import strategies as st
from judged import statuses
from support.datasets import CasesError, open_dump

from ioi_eval import Scorer
from ioi_eval.models import Verdict as V
from ioi_eval.rules.row_tests import read_pickled_string, unpack_tests

FUNCTION = {
    "starter_code": "class Solution:\n    def add(self, a: List[int], b: int) -> int:\n        ",
    "metadata": '{"func_name": "add"}',
    "public_test_cases": lcb_tests(("[1, 2]\n3", "6"), kind="functional"),
    "platform": "leetcode",
    "difficulty": "hard",
    "contest_date": "2025-01-04T00:00:00",
}
METHOD = "class Solution:\n    def add(self, a: List[int], b: int): return sum(a) + b\n"


def functional(name: str, **columns: Any) -> dict[str, Any]:
    private = packed(lcb_tests(("[]\n-4", "-4"), kind="functional"))
    return livecodebench(name, **{**FUNCTION, "private": private, **columns})


async def test_output_is_compared_by_lines_and_decimal_numbers(scorer: Scorer, tmp_path: Path) -> None:
    problem = loaded(tmp_path, "livecodebench", [livecodebench("a")])["a"]
    assert await statuses(scorer, problem, ADD) == [V.AC, V.AC]
    assert await statuses(scorer, problem, f"print()\n{ADD}print()") == [V.AC, V.AC]
    assert await statuses(scorer, problem, f"{ADD}print(0)") == [V.WA, V.WA]


async def test_livecodebench_calls_method_of_solution_class(scorer: Scorer, tmp_path: Path) -> None:
    problem = loaded(tmp_path, "livecodebench", [functional("2727")])["2727"]
    assert problem.starter_code == FUNCTION["starter_code"]
    assert contents(problem) == [("[[1, 2], 3]", "6"), ("[[], -4]", "-4")]
    assert await statuses(scorer, problem, METHOD) == [V.AC, V.AC]
    assert await statuses(scorer, problem, "def add(a, b): return [sum(a) + b]") == [V.WA, V.WA]


@pytest.mark.parametrize(("digits", "verdict"), [(4_301, V.AC), (49_999, V.AC), (50_002, V.RE)])
async def test_int_conversion_digit_limit_matches_benchmark_runner(
    scorer: Scorer, tmp_path: Path, digits: int, verdict: V
) -> None:
    row = livecodebench("big", public_test_cases=lcb_tests(("1", "1" + "0" * (digits - 1))), private="")
    problem = loaded(tmp_path, "livecodebench", [row])["big"]
    program = f"print(int(str(10 ** ({digits} - 1)) * int(input())))"
    assert await statuses(scorer, problem, program) == [verdict]


def test_livecodebench_rows_need_no_year(tmp_path: Path) -> None:
    dump = write_jsonl(tmp_path / "d.jsonl", [{"problem_id": "a", "code": ADD}])
    info = open_dump([dump], problems=loaded(tmp_path, "livecodebench", [livecodebench("a")])).info
    assert (len(info.keys), info.noted) == (1, {})


def test_all_numbered_files_of_a_release_are_read(tmp_path: Path) -> None:
    copies = write_rows(tmp_path / "copies", "livecodebench", [livecodebench("a")])
    folder = copies / "code_generation_lite"
    (folder / "test-00000-of-00001.parquet").rename(folder / "test.parquet")
    problems = loaded(tmp_path, "livecodebench", [livecodebench("b")])
    assert list(problems) == ["a", "b"]
    (folder / "test.parquet").rename(folder / "test2.parquet")
    assert list(loaded(tmp_path, "livecodebench", [livecodebench("c")])) == ["a", "c"]


# --- pickles -----------------------------------------------------------------------------------------


class Attack:
    """A pickle that would write a file if it were executed."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.path),)


@given(st.text(), st.integers(0, pickle.HIGHEST_PROTOCOL))
def test_pickled_text_is_unpacked(text: str, protocol: int) -> None:
    data = pickle.dumps(text, protocol)
    assert read_pickled_string(data) == text
    assert unpack_tests(base64.b64encode(zlib.compress(data)).decode()) == text


@given(st.binary())
def test_arbitrary_pickle_bytes_are_text_or_cases_error(data: bytes) -> None:
    try:
        assert isinstance(read_pickled_string(data), str)
    except CasesError as error:
        assert "pickle" in str(error)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_malicious_pickle_is_not_executed(tmp_path: Path, protocol: int) -> None:
    trap = tmp_path / "trap"
    private = base64.b64encode(zlib.compress(pickle.dumps(Attack(trap), protocol))).decode()
    problems = loaded(tmp_path, "livecodebench", [livecodebench("a", private=private)])
    assert problems["a"].unusable.startswith(
        "Could not parse test cases: the pickle contains more than a string"
    )
    assert not trap.exists()
    pickle.loads(zlib.decompress(base64.b64decode(private)))
    assert trap.exists(), "unpickling would have run code"


@pytest.mark.parametrize(
    "data",
    [
        b"cos\nsystem\n(S'exit 1'\ntR.",  # pickle protocol 0
        b"\x80\x02]q\x7f.",  # an empty list instead of a string
        b"\x80\x02r\xff\xff\xff\x7f.",  # a memo index that would need gigabytes
        b"\x8e\xff\xff\xff\xff\xff\xff\xff\x7f.",  # bytes that would need exabytes
        pickle.dumps("a")[:-1] + pickle.dumps("b"),  # two strings
        b"P1\n.",  # a reference to a custom object
    ],
)
def test_pickle_with_more_than_one_string_is_refused(data: bytes) -> None:
    with pytest.raises(CasesError, match="pickle"):
        read_pickled_string(data)


def test_packed_tests_over_the_size_limit_are_refused() -> None:
    bomb = base64.b64encode(zlib.compress(b"\0" * (9 << 20))).decode()
    assert len(bomb) < 20_000
    with pytest.raises(CasesError, match="larger than 8 MiB"):
        unpack_tests(bomb, max_bytes=8 << 20)


def test_truncated_packed_tests_are_refused() -> None:
    whole = base64.b64decode(packed("x" * 1000))
    with pytest.raises(CasesError, match="cut off"):
        unpack_tests(base64.b64encode(whole[:-6]).decode())
