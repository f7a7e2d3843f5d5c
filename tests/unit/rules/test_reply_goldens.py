"""Programs in the model replies of tests/data/replies.

A line of `NAME.jsonl` is a reply or its parts, the language of its program and, if it is not the last block,
which block is the program. `NAME.expected` has the extracted program, and the language that the reply shows
if it shows another one. For a reply without a language it has the reason why there is no program.
`pytest --update` on this file writes `NAME.expected`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from support.goldens import golden, outcomes

from ioi_eval.model.languages import LANGUAGES, find_language
from ioi_eval.rules.extraction import (
    Extraction,
    detect_reply_language,
    explain_missing_program,
    extract,
    join_answer_text,
)

FOLDER = Path(__file__).parents[2] / "data" / "replies"


def outcome(case: Mapping[str, Any], _number: int) -> Iterator[str]:
    """Yield the lines of a case in `NAME.expected`."""
    reply = join_answer_text(case["parts"]) if "parts" in case else case["reply"]
    if "language" not in case:
        yield f"  no program: {explain_missing_program(reply)}"
        return
    language, extraction = find_language(case["language"]), Extraction(case.get("extraction", "last"))
    program = extract(reply, language, extraction)
    if program is None:
        yield "  no program"
    else:
        yield "  the reply" if program == reply else f"  {json.dumps(program)}"
    shown_language = detect_reply_language(reply, LANGUAGES, language, extraction)
    if shown_language is not None:
        yield f"  in {shown_language.name}"


@pytest.mark.parametrize("name", sorted(path.stem for path in FOLDER.glob("*.jsonl")))
def test_programs_are_found_in_replies_as_expected(name: str) -> None:
    assert outcomes(FOLDER / f"{name}.jsonl", outcome) == golden(FOLDER / f"{name}.expected")
