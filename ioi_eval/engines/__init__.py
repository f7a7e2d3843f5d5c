"""Engines execute jobs. The exported names are public: the interface, and engines by their names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ioi_eval.engines.contract import Check, Engine
from ioi_eval.model.lazy import make_lazy_accessors

if TYPE_CHECKING:
    from ioi_eval.engines.piston.discovery import Discovery
    from ioi_eval.engines.registry import EngineSetup, find_engine, open_engine
else:
    # These names are imported when they are first used.
    __getattr__, __dir__ = make_lazy_accessors(
        __name__,
        {
            "engines.piston.discovery": "Discovery",
            "engines.registry": "EngineSetup find_engine open_engine",
        },
    )

__all__ = [
    "Check",
    "Discovery",
    "Engine",
    "EngineSetup",
    "find_engine",
    "open_engine",
]
