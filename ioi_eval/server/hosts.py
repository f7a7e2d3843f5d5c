"""By which names a worker without a token may be addressed.

Every web page that somebody opens on this machine can send requests to this machine, and a name of the page's
own can be made to stand for any address (DNS rebinding). What gives it away is the name in the request: it is
the page's. A request that names an address went to that address, so an address is fine.
"""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

from multidict import CIMultiDictProxy

from ioi_eval.engines import transport as piston
from ioi_eval.server.options import ServerOptions, is_loopback


def check_names(headers: CIMultiDictProxy[str], options: ServerOptions) -> None:
    """Raises Refused for a foreign `Host`, and for a page that is not the worker's own in `Origin`."""
    if options.token:
        return  # which no foreign page knows
    hosts = {_name(f"//{host}") for host in headers.getall("Host", [])}
    for host in hosts:
        if not _is_ours(host, options):
            raise _foreign("the host", host)
    for origin in headers.getall("Origin", []):
        page = _name(origin)
        if page not in hosts | set(options.allow_hosts) and not _both_loopback(page, options.host):
            raise _foreign("pages of", page)


def _name(address: str) -> str:
    """Without port, brackets and the root's dot. Empty where there is none, as in the origin `null`."""
    try:
        return (urlsplit(address).hostname or "").removesuffix(".")
    except ValueError:
        return ""


def _is_ours(host: str, options: ServerOptions) -> bool:
    if host == options.host.lower() or host in options.allow_hosts or is_loopback(host):
        return True
    return not is_loopback(options.host) and _is_address(host)


def _both_loopback(page: str, host: str) -> bool:
    return is_loopback(page) and is_loopback(host)


def _is_address(host: str) -> bool:
    try:
        return bool(ipaddress.ip_address(host))
    except ValueError:
        return False


def _foreign(what: str, name: str) -> piston.Refused:
    remedy = "start it with --allow-host NAME if it is to"
    return piston.Refused(f"this worker does not answer to {what} {name[:100]!r}: {remedy}", status=403)
