"""Folders that the package brings along."""

from __future__ import annotations

from ioi_eval.store.resources import examples, graders

__all__ = ["examples", "graders"]
