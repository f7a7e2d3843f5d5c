"""Jobs on Piston servers over HTTP: endpoints that are found, watched, and given what they can take."""

from ioi_eval.engines.piston.contents import Patience
from ioi_eval.engines.piston.discovery import Discovery
from ioi_eval.engines.piston.engine import PistonEngine
from ioi_eval.engines.piston.profiles import differences
from ioi_eval.engines.piston.reports import EndpointReport

__all__ = ["Discovery", "EndpointReport", "Patience", "PistonEngine", "differences"]
