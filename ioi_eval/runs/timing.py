"""How a run measures time: the factor on limits, and the band around them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ioi_eval.model.options import Borderline
from ioi_eval.model.values import Value

USUAL = Borderline()


class Timing(Value):
    """As the user asked for it."""

    factor: float = 1.0
    borderline: Borderline | None = USUAL

    @property
    def matter(self) -> Mapping[str, Any]:
        """What of it differs from the usual, and so can change results."""
        band = {} if self.borderline == USUAL else {"borderline": str(self.borderline or "1:1")}
        return {**band, **({} if self.factor == 1 else {"time_factor": self.factor})}
