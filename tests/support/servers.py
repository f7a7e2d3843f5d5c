"""Servers to start, and what a client learns of one."""

from __future__ import annotations

from ioi_eval.engines.contract import Condition
from ioi_eval.engines.piston import Patience
from ioi_eval.engines.piston.discovery import Fixed
from ioi_eval.engines.piston.reports import EndpointReport, findings
from ioi_eval.server import Server, ServerOptions, serve

__all__ = ["Condition", "EndpointReport", "Fixed", "Patience", "Server", "ServerOptions", "findings", "serve"]
