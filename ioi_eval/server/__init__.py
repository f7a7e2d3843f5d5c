"""The embedded engine over Piston's HTTP API: a cluster's worker without Docker or privileges."""

from ioi_eval.server.log import EmitEvent, Event
from ioi_eval.server.options import ServerOptions, check_address
from ioi_eval.server.server import Server, serve

__all__ = ["EmitEvent", "Event", "Server", "ServerOptions", "check_address", "serve"]
