"""The types of eval-protocol where it is installed, otherwise equal ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

__all__ = ["EvaluateResult", "EvaluationRow", "Message", "MetricResult"]

if TYPE_CHECKING:
    _INSTALLED = False
else:
    try:
        from eval_protocol.models import EvaluateResult, EvaluationRow, Message, MetricResult

        _INSTALLED = True
    except ImportError:
        _INSTALLED = False

if not _INSTALLED:

    class _Fields(msgspec.Struct, kw_only=True):
        """The operations that programs written for the package use on its models."""

        def __getitem__(self, name: str) -> Any:
            if name not in self.__struct_fields__:
                raise KeyError(name)
            return getattr(self, name)

        def __contains__(self, name: str) -> bool:
            return name in self.__struct_fields__

        def get(self, name: str, default: Any = None) -> Any:
            return getattr(self, name, default)

        def model_dump(self) -> dict[str, Any]:
            plain: dict[str, Any] = msgspec.to_builtins(self)
            return plain

    class Message(_Fields):
        role: str
        content: Any = ""
        reasoning_content: str | None = None

    class MetricResult(_Fields):
        score: float
        reason: str
        is_score_valid: bool = True
        data: dict[str, Any] = {}

    class EvaluateResult(_Fields):
        score: float
        is_score_valid: bool = True
        reason: str | None = None
        metrics: dict[str, MetricResult] = {}
        error: str | None = None

    class EvaluationRow(_Fields):
        messages: list[Message] = []
        ground_truth: Any = None
        evaluation_result: EvaluateResult | None = None
