"""Executes jobs on Piston servers over HTTP: finds servers, watches them, and sends them jobs that fit."""

from ioi_eval.engines.piston.discovery import Discovery
from ioi_eval.engines.piston.engine import Patience, PistonEngine
from ioi_eval.engines.piston.reports import EndpointReport

__all__ = ["Discovery", "EndpointReport", "Patience", "PistonEngine"]
