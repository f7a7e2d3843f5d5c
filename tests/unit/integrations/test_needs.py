"""A package of somebody else that is missing is named with the extra that brings it."""

from __future__ import annotations

import sys
from importlib import import_module

import pytest

from ioi_eval.integrations import lm_eval

pytestmark = pytest.mark.once


@pytest.mark.parametrize(
    "package, module, extra",
    [("inspect_ai", "inspect_ai", "inspect-ai"), ("pydantic", "verifiers", "verifiers")],
)
def test_at_an_import(monkeypatch: pytest.MonkeyPatch, package: str, module: str, extra: str) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.delitem(sys.modules, f"ioi_eval.integrations.{module}", raising=False)
    with pytest.raises(ModuleNotFoundError, match=rf"{package} is not .* pip install 'ioi-eval\[{extra}\]'"):
        import_module(f"ioi_eval.integrations.{module}")


def test_at_a_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "evaluate", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'ioi-eval\[lm-eval\]'"):
        lm_eval.install()
