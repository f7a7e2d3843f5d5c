"""Model replies in tests/data/replies:

the extracted program, or the reason why there is none. A line of `NAME.jsonl` is a reply and the language of
its program. Without a language, `NAME.expected` has the reason. `pytest --update` on this file writes
`NAME.expected`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from support.goldens import golden, outcomes

from ioi_eval.model.languages import find_language
from ioi_eval.rules.extraction import explain_missing_program, extract

FOLDER = Path(__file__).parents[2] / "data" / "replies"


def outcome(case: Mapping[str, Any], _number: int) -> Iterator[str]:
    """Yield the lines of a case in `NAME.expected`."""
    reply = case["reply"]
    if "language" not in case:
        yield f"  no program: {explain_missing_program(reply)}"
        return
    program = extract(reply, find_language(case["language"]))
    if program is None:
        yield "  no program"
    else:
        yield "  the reply" if program == reply else f"  {json.dumps(program)}"


@pytest.mark.parametrize("name", sorted(path.stem for path in FOLDER.glob("*.jsonl")))
def test_programs_are_found_in_replies_as_expected(name: str) -> None:
    assert outcomes(FOLDER / f"{name}.jsonl", outcome) == golden(FOLDER / f"{name}.expected")
