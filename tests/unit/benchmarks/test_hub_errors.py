"""A hub that nobody reaches is one sentence, whatever its client raises.

The errors are those of the real libraries. Only who raises them is not, the client tries for half a minute.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import datasets
import huggingface_hub
import pytest

from ioi_eval.benchmarks.copies import TableSource
from ioi_eval.benchmarks.dumps import find_dumps
from ioi_eval.benchmarks.publishing import publish
from ioi_eval.benchmarks.tables import open_table
from ioi_eval.errors import InputError
from ioi_eval.secret import Secret


@pytest.fixture(params=["httpx", "httpx2"])
def error(request: pytest.FixtureRequest) -> Exception:
    """What the client lets through depends on its version."""
    pytest.importorskip(request.param)
    found: Exception = importlib.import_module(request.param).ConnectError("Name or service not known")
    return found


def failing(error: Exception) -> Any:
    def fail(*arguments: Any, **options: Any) -> None:
        raise error

    return fail


def test_a_pattern(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    monkeypatch.setattr(huggingface_hub.HfApi, "list_datasets", failing(error))
    with pytest.raises(InputError, match=r"me/models-\*: cannot be loaded .*not known.*is there a network"):
        find_dumps(["me/models-*"])


def test_a_table(monkeypatch: pytest.MonkeyPatch, error: Exception, tmp_path: Path) -> None:
    monkeypatch.setattr(datasets, "load_dataset_builder", failing(error))
    with pytest.raises(InputError, match=r"org/x: cannot be loaded .*not known.*--data-dir"):
        open_table(TableSource(dataset="org/x", split="test"), cache=tmp_path)


def test_a_push(monkeypatch: pytest.MonkeyPatch, error: Exception, tmp_path: Path) -> None:
    (tmp_path / "results.jsonl").write_text('{"key": "1"}\n')
    (tmp_path / "report.md").write_text("# Scores\n")
    monkeypatch.setattr(huggingface_hub.HfApi, "create_repo", failing(error))
    with pytest.raises(InputError, match=r"me/x, .*cannot be pushed .*not known.*Is there a network"):
        publish(tmp_path, "me/x", private=True, token=Secret("x"), dry=False)
