"""Jobs on Piston servers over HTTP: endpoints that are found, watched, and given what they can take."""

from ioi_eval.engines.piston.discovery import Discovery
from ioi_eval.engines.piston.engine import Patience, PistonEngine
from ioi_eval.engines.piston.reports import EndpointReport

__all__ = ["Discovery", "EndpointReport", "Patience", "PistonEngine"]
