"""Replies in files NAME.LANGUAGE.txt, with their code in NAME.LANGUAGE.code."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.datasets import extract
from support.engines import find_language

CORPUS = Path(__file__).parent / "extraction_corpus"
GENERATIONS = sorted(CORPUS.glob("*.txt"))


@pytest.mark.parametrize("path", GENERATIONS, ids=lambda path: path.stem)
def test_program_of_each_stored_reply_is_extracted(path: Path) -> None:
    expected = path.with_suffix(".code")
    extracted = extract(path.read_bytes().decode(), find_language(path.stem.rpartition(".")[2]))
    assert extracted == (expected.read_text() if expected.exists() else None)


def test_each_stored_program_has_a_stored_reply() -> None:
    assert {path.stem for path in CORPUS.glob("*.code")} < {path.stem for path in GENERATIONS}
