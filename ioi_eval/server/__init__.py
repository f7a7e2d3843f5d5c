"""The embedded engine over Piston's HTTP API: a cluster's worker without Docker or privileges."""

from ioi_eval.server.log import Event, Tell
from ioi_eval.server.options import ServerOptions, check_address
from ioi_eval.server.server import Server, serve

__all__ = ["Event", "Server", "ServerOptions", "Tell", "check_address", "serve"]
