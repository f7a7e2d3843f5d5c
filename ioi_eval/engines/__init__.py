"""Engines build and judge; most of them stand on a transport, which executes jobs.

The exported names are public: what an engine is given and gives, and engines by the name that a user says.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ioi_eval.engines.contract import Answers, Batch, Built, Engine, Recipe, Rejected, Transport
from ioi_eval.model.lazy import shown_in
from ioi_eval.model.protocol import VERSION, Line

if TYPE_CHECKING:
    from ioi_eval.engines.piston.discovery import Discovery
    from ioi_eval.engines.registry import EngineSetup, find_engine
else:
    # Loaded when they are first used.
    __getattr__, __dir__ = shown_in(
        __name__,
        {
            "engines.piston.discovery": "Discovery",
            "engines.registry": "EngineSetup find_engine",
        },
    )

__all__ = [
    "VERSION",
    "Answers",
    "Batch",
    "Built",
    "Discovery",
    "Engine",
    "EngineSetup",
    "Line",
    "Recipe",
    "Rejected",
    "Transport",
    "find_engine",
]
