"""The code of docs/apps.md runs as shown."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ioi_eval.integrations.runtime import close_all

DOCS = Path(__file__).parents[3] / "docs" / "apps.md"


def test_eval_protocol_docs_example_prints_documented_result(
    shared_cache: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("IOI_EVAL_CACHE", str(shared_cache))
    example = re.search(
        r"```python\n(from ioi_eval.integrations.eval_protocol.*?)\n```\n\nIf ", DOCS.read_text(), re.S
    )
    assert example is not None
    promised_packages = re.search(r"# (1\.0 .*)$", example[1], re.M)
    assert promised_packages is not None
    exec(compile(example[1], str(DOCS), "exec"), {})
    close_all()
    assert capsys.readouterr().out.strip() == promised_packages[1]
