"""The file of generations: a kill at any time loses and mixes nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from generate_helpers import ask
from hypothesis import given, settings
from hypothesis import strategies as st
from support.model_requests import GeneratedReply, Generations

from ioi_eval.errors import InputError


def keep(folder: Path, *keys: str, made_of: str = "x", fresh: bool = False) -> None:
    with Generations(folder, made_of, "m", fresh=fresh) as generations:
        for key in keys:
            generations.add(ask(key), GeneratedReply(generation=f"text of {key}"))


def stored_replies(folder: Path, made_of: str = "x") -> dict[str, str]:
    with Generations(folder, made_of, "m") as generations:
        return {row["uuid"]: row["generation"] for row in generations}


def test_generation_row_has_columns_of_published_dumps(tmp_path: Path) -> None:
    reply = GeneratedReply(
        generation="g",
        reasoning="r",
        code="c",
        language="c++",
        stop_reason="stop",
        usage={"prompt_tokens": 1},
        cost=0.5,
        settings={"seed": 1},
    )
    with Generations(tmp_path, "x", "m") as generations:
        generations.add(ask("p@2024#1", year=2024, number=1), reply)
        generations.add(ask("p#0"), GeneratedReply(generation=""))
    full, sparse = (json.loads(line) for line in (tmp_path / "generations.jsonl").read_text().splitlines())
    assert full.pop("metadata").pop("timestamp")
    assert full == {
        "uuid": "p@2024#1",
        "problem_id": "p",
        "prompt": "Solve it.",
        "generation": "g",
        "language": "c++",
        "solution_number": 1,
        "model": "m",
        "model_kwargs": {"seed": 1},
        "year": 2024,
        "code": "c",
        "reasoning": "r",
    }
    assert not {"year", "code", "reasoning"} & sparse.keys()
    assert sparse["language"] == "python"


def test_generations_file_is_continued(tmp_path: Path) -> None:
    keep(tmp_path, "a", "b")
    keep(tmp_path, "c")
    assert stored_replies(tmp_path) == {key: f"text of {key}" for key in "abc"}


@settings(max_examples=30)
@given(st.data())
def test_truncated_generations_file_keeps_all_complete_lines(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("cut")
    keep(folder, "a", "b", "c")
    file = folder / "generations.jsonl"
    whole = file.read_bytes()
    cut = whole[: data.draw(st.integers(0, len(whole)))]
    file.write_bytes(cut)
    complete_keys = "abc"[: cut.count(b"\n")]
    assert stored_replies(folder) == {key: f"text of {key}" for key in complete_keys}
    keep(folder, *sorted(set("abc") - set(complete_keys)))
    assert stored_replies(folder) == {key: f"text of {key}" for key in "abc"}


def test_replies_to_other_requests_are_an_input_error(tmp_path: Path) -> None:
    keep(tmp_path, "a")
    with pytest.raises(InputError, match=r"other prompts.*fresh=True"):
        keep(tmp_path, "b", made_of="y")
    assert stored_replies(tmp_path) == {"a": "text of a"}


@pytest.mark.parametrize("content", [None, b"", b"[]", b"{", b"{}"])
def test_generations_of_unknown_origin_are_refused(tmp_path: Path, content: bytes | None) -> None:
    keep(tmp_path, "a")
    origin_file = tmp_path / "generations.json"
    origin_file.unlink() if content is None else origin_file.write_bytes(content)
    with pytest.raises(InputError, match="other prompts"):
        stored_replies(tmp_path)


@pytest.mark.parametrize("content", [None, b"", b"{}"])
def test_generation_that_was_killed_in_first_row_starts_again(tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / "generations.json").write_bytes(content)
        (tmp_path / "generations.jsonl").write_bytes(b'{"uuid": "a", "gen')
    keep(tmp_path, "a")
    assert stored_replies(tmp_path) == {"a": "text of a"}


def test_fresh_generations_replace_old_ones_at_first_row(tmp_path: Path) -> None:
    keep(tmp_path, "a", "b")
    keep(tmp_path, fresh=True, made_of="y")
    assert stored_replies(tmp_path) == {"a": "text of a", "b": "text of b"}
    keep(tmp_path, "c", fresh=True, made_of="y")
    assert stored_replies(tmp_path, made_of="y") == {"c": "text of c"}


@pytest.mark.parametrize(
    "line", [b"nonsense\n", b"[]\n", b"{}\n", b'{"uuid": 7}\n', b'{"uuid": "\xe9"}\n', b"\n"]
)
def test_malformed_generation_line_is_input_error(tmp_path: Path, line: bytes) -> None:
    keep(tmp_path, "a")
    with (tmp_path / "generations.jsonl").open("ab") as stream:
        stream.write(line)
    with pytest.raises(InputError, match="is not a generation"):
        stored_replies(tmp_path)


def test_second_process_writing_generations_is_refused(tmp_path: Path) -> None:
    with Generations(tmp_path, "x", "m"), pytest.raises(InputError, match="another process"):
        keep(tmp_path, fresh=True)
    keep(tmp_path, "a")


def test_unused_generations_folder_is_removed(tmp_path: Path) -> None:
    keep(tmp_path / "new")
    assert not (tmp_path / "new").exists()
    (tmp_path / "old").mkdir()
    keep(tmp_path / "old")
    assert (tmp_path / "old").exists()
    keep(tmp_path / "new", "a")
    keep(tmp_path / "new")
    assert stored_replies(tmp_path / "new") == {"a": "text of a"}


def test_unwritable_generations_folder_is_input_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="cannot be written"):
        keep(tmp_path / "file" / "run")
