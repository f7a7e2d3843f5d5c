"""The nesting depth of JSON is checked before it is decoded, regardless of the contents of strings."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ioi_eval.model.nesting import DEEPEST, NestedTooDeep, NestingChecker, require_shallow

TRICKY = st.text(alphabet='[]{}"\\,:x\n\ud800é', max_size=8)
LEAVES = st.none() | st.integers() | TRICKY
VALUES = st.recursive(LEAVES, lambda inner: st.lists(inner) | st.dictionaries(TRICKY, inner), max_leaves=30)


def nested_json(value: Any, levels: int) -> str:
    """Return JSON with a value inside this number of nested lists and objects."""
    opening = ["[", '{"\\\\\\"]": '] * levels
    closing = ["]", "}"] * levels
    return "".join(opening[:levels]) + json.dumps(value) + "".join(closing[:levels][::-1])


def depth_of(value: Any) -> int:
    inner = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if inner is None else 1 + max(map(depth_of, inner), default=0)


@given(value=VALUES, other=VALUES)
def test_json_is_accepted_up_to_the_nesting_limit(value: Any, other: Any) -> None:
    levels = DEEPEST - 1 - depth_of(value)
    for neighbour in ("[{][" * DEEPEST, other):
        encoded = f"[{json.dumps(neighbour)}, {nested_json(value, levels)}]"
        assert depth_of(json.loads(encoded)) == max(DEEPEST, 1 + depth_of(neighbour))
        assert require_shallow(encoded) is encoded
        assert require_shallow(encoded.encode())
    for deeper in (f"[{encoded}]", f'{{"]": {encoded}}}'):
        with pytest.raises(NestedTooDeep):
            require_shallow(deeper)
        with pytest.raises(NestedTooDeep):
            require_shallow(deeper.encode())


@given(value=VALUES, cuts=st.lists(st.integers(0, 5), min_size=1))
def test_nesting_check_of_json_chunks_is_independent_of_chunk_borders(value: Any, cuts: list[int]) -> None:
    for levels, refused in ((DEEPEST - depth_of(value), False), (DEEPEST - depth_of(value) + 1, True)):
        remainder, nesting, is_refused = (
            json.dumps([value]) + nested_json(value, levels),
            NestingChecker(),
            False,
        )
        while remainder and not is_refused:
            for cut in cuts:
                piece, remainder = remainder[: cut + 1], remainder[cut + 1 :]
                try:
                    nesting.check_piece(piece)
                except NestedTooDeep:
                    is_refused = True
                    break
        assert is_refused is refused


@pytest.mark.parametrize("encoded", ["", "[", '"', "\\", '{"a": "\\', "]" * 2000, "[" * DEEPEST])
def test_nesting_check_accepts_invalid_json(encoded: str) -> None:
    assert require_shallow(encoded) is encoded


@pytest.mark.parametrize(
    "encoded", ["[" * 100_000, '{"a":' * 100_000, "[1,[2]," * 100_000, '["\\"' + '",["' * 600]
)
def test_deeply_nested_json_is_refused(encoded: str) -> None:
    with pytest.raises(NestedTooDeep, match="nested deeper than 500"):
        require_shallow(encoded)


HOSTILE = """
import sys
sys.setrecursionlimit(500_000)
from ioi_eval.benchmarks.row_files import read_rows
from ioi_eval.engines.jobs.piston_api import decode_reply
from ioi_eval.engines.jobs.piston_api import decode_request
from ioi_eval.engines.jobs.piston_api import read_refusal_message
from ioi_eval.generate.chat import read_reply
from ioi_eval.model.protocol import decode_lines
from pathlib import Path

tower = b"[" * 300_000
line = '{"nonce":"n","x":' + tower.decode() + chr(10)
dump = Path(sys.argv[1])
dump.with_suffix(".jsonl").write_bytes(b'{"a":' + tower)
dump.with_suffix(".json").write_bytes(b'[{"a":' + tower)
for attempt in (
    lambda: decode_reply(200, b'{"run":{"x":' + tower),
    lambda: decode_request(tower),
    lambda: list(decode_lines(line, "n")),
    lambda: read_reply(200, {}, tower, now=0),
    lambda: read_reply(200, {"content-type": "text/event-stream"}, b"data: " + tower, now=0),
    lambda: list(read_rows(dump.with_suffix(".jsonl"))),
    lambda: list(read_rows(dump.with_suffix(".json"))),
):
    try:
        attempt()
    except Exception as error:
        print(type(error).__name__)
print(read_refusal_message(tower)[:3])
"""


def test_decoders_refuse_deeply_nested_json_despite_high_recursion_limit(tmp_path: Path) -> None:
    """It runs in a new process, because a decoder without the check would crash."""
    completed = subprocess.run(
        [sys.executable, "-c", HOSTILE, tmp_path / "dump"], capture_output=True, text=True
    )
    assert (completed.returncode, completed.stderr) == (0, "")
    replies, rows = (
        ["BrokenReply", "RefusedRequest", "BrokenReply", "ModelServerFault", "ModelServerFault"],
        ["InputError", "InputError"],
    )
    assert completed.stdout.split() == [*replies, *rows, "[[["]


def test_nested_too_deep_is_a_decode_error_and_a_value_error() -> None:
    assert issubclass(NestedTooDeep, msgspec.DecodeError) and issubclass(NestedTooDeep, ValueError)
