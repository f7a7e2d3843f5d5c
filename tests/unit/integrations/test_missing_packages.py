"""The error about a missing package names the extra that installs it."""

from __future__ import annotations

import json
import sys
from importlib import import_module
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

import pytest

from ioi_eval import InputError, integrations
from ioi_eval.errors import ExtraMissing
from ioi_eval.integrations import lm_eval
from ioi_eval.integrations.tasks import open_evaluation_source


@pytest.mark.parametrize(
    "package, module, extra",
    [("inspect_ai", "inspect_ai", "inspect-ai"), ("pydantic", "verifiers", "verifiers")],
)
def test_missing_package_at_import_names_the_extra(
    monkeypatch: pytest.MonkeyPatch, package: str, module: str, extra: str
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.delitem(sys.modules, f"ioi_eval.integrations.{module}", raising=False)
    with pytest.raises(ModuleNotFoundError, match=rf"{package} is not .* pip install '\.\[{extra}\]'"):
        import_module(f"ioi_eval.integrations.{module}")


@pytest.mark.parametrize(
    ("installed", "extra", "end"),
    [
        ({"mcp.server.mcpserver"}, "verifiers", "'.[verifiers]'"),
        ({"openenv"}, "eval-protocol", "'.[eval-protocol]'"),
        ({"openenv"}, "lm-eval", "'.[lm-eval]'"),
        ({"openenv"}, "mcp", ", in another environment: openenv needs another version of the package mcp"),
        (
            {"verifiers", "mcp.server.mcpserver"},
            "openenv",
            ": mcp and verifiers need another version of the package mcp",
        ),
    ],
)
def test_message_names_installed_packages_that_need_another_mcp(
    monkeypatch: pytest.MonkeyPatch, installed: set[str], extra: str, end: str
) -> None:
    for name in ("mcp.server.mcpserver", "verifiers", "openenv", "eval_protocol"):
        module = ModuleType(name)
        module.__spec__ = ModuleSpec(name, None)
        monkeypatch.setitem(sys.modules, name, module if name in installed else None)
    with pytest.raises(ExtraMissing) as caught, integrations.require_extra(extra):
        import_module("no_such_package")
    assert str(caught.value).endswith(end)


def test_missing_package_at_a_call_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "evaluate", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install '\.\[lm-eval\]'"):
        lm_eval.install()


@pytest.mark.usefixtures("closing_reward_runtimes")
def test_missing_packages_are_found_before_model_is_asked(tmp_path: Path) -> None:
    rows, tests = tmp_path / "apps.jsonl", json.dumps({"inputs": ["1"], "outputs": ["1"]})
    rows.write_text(json.dumps({"question": "Print it.", "input_output": tests, "difficulty": "easy"}) + "\n")
    # No Python has all of these packages.
    with pytest.raises(InputError, match="submissions may import"):
        open_evaluation_source(str(rows), {"packages": "numpy,sympy,sortedcontainers,atcoder"})
    assert open_evaluation_source(str(rows), {"packages": "none"}).problems.packages == ()
