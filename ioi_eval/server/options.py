"""Options of a server: where it listens, by which names, what it takes, how much of it."""

from __future__ import annotations

import ipaddress
import re
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

import msgspec
from multidict import CIMultiDictProxy

from ioi_eval.engines.jobs import piston_api as piston
from ioi_eval.engines.piston.sending import is_loopback
from ioi_eval.model.errors import InputError
from ioi_eval.model.options import CliOption
from ioi_eval.model.secret import Secret
from ioi_eval.model.values import Value
from ioi_eval.store.resources import machine_memory

_SHARE = 8  # of the memory: a body that is being decoded takes three times its size, and its box once more


_SIZE = re.compile(r"(\d+)\s*([kmg]?)i?b?", re.IGNORECASE)
_UNITS = {"": 0, "k": 10, "m": 20, "g": 30}


def read_size(text: str) -> int:
    """Return the bytes of a size such as 512mb."""
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise InputError(f"{text!r} is not a size", remedy="Write 512mb, 100kb or 1048576")
    return int(match[1]) << _UNITS[match[2].lower()]


_SIZED = CliOption(typed=str, read=read_size, metavar="SIZE")
_TIMED = CliOption(typed=int, read=lambda seconds: 1000 * seconds, least=1, metavar="SECONDS")


class ServerOptions(Value):
    """Times in ms, sizes in bytes. A limit of -1 is none, as for Piston."""

    port: Annotated[
        Annotated[int, msgspec.Meta(ge=0, le=65535)],
        CliOption(metavar="N", help="The port to listen on; 0: any free one.", panel="Access"),
    ] = 2000
    host: Annotated[
        str,
        CliOption(metavar="ADDRESS", help="The address to listen on; 0.0.0.0: every one.", panel="Access"),
    ] = "127.0.0.1"
    allow_hosts: Annotated[
        tuple[str, ...],  # for requests without a token
        CliOption(
            name="allow_host",
            metavar="NAME",
            help="A further name of this machine; the option may be repeated.",
            panel="Access",
            read=lambda names: [name.lower() for name in names],
        ),
    ] = ()
    tls_cert: Annotated[
        Path | None,
        CliOption(
            metavar="FILE", help="Certificate, with its chain, in PEM: serve https only.", panel="Access"
        ),
    ] = None
    tls_key: Annotated[
        Path | None,
        CliOption(metavar="FILE", help="Its private key, if that is not in the same file.", panel="Access"),
    ] = None
    queue: Annotated[
        Annotated[int, msgspec.Meta(ge=0)],
        CliOption(metavar="N", help="Requests that may wait; further ones get 503."),
    ] = 64
    max_body: Annotated[int, _SIZED, CliOption(default="512mb", help="Size of one request, inflated.")] = (
        512 << 20
    )
    max_bodies: Annotated[
        int | None,
        _SIZED,
        CliOption(
            help="Size of all requests that run or wait; beyond it: 503.", unset="an eighth of the memory"
        ),
    ] = None
    max_contents: Annotated[
        int | None,
        _SIZED,
        CliOption(
            help="Room on disk for contents that clients send once; 0: none.",
            unset="8gb, a quarter of what is free",
        ),
    ] = None
    contents_folder: Annotated[
        str,
        CliOption(metavar="DIR", help="Where these contents lie, if not where boxes do.", unset="$TMPDIR"),
    ] = ""
    max_output: Annotated[
        int,
        _SIZED,
        CliOption(default="64mb", help="Size of a job's standard output, and of its error output."),
    ] = 64 << 20
    run_timeout: Annotated[int, _TIMED, CliOption(default=900, help="The longest that a job may run.")] = (
        900_000
    )
    compile_timeout: Annotated[
        int, _TIMED, CliOption(default=120, help="The longest that it may compile.")
    ] = 120_000
    run_cpu_time: int = 900_000
    compile_cpu_time: int = 120_000
    run_memory_limit: int = -1
    compile_memory_limit: int = -1
    token: Secret = Secret()  # that requests must bring; empty: none, or one of the file's
    token_file: Path | None = None  # of one token, or of several with names (server/jobs.py)
    log_jobs: bool = False  # every one that ends
    allowing: str = "allow_hosts=NAME"  # how one more is named where the worker is started, for refusals

    @property
    def room(self) -> int:
        """Bytes of all bodies; always enough for one."""
        share = machine_memory() // _SHARE if self.max_bodies is None else self.max_bodies
        return max(self.max_body, share)

    @property
    def asks(self) -> bool:
        """Return True if requests must bring a token."""
        return bool(self.token or self.token_file)

    def tls(self) -> ssl.SSLContext | None:
        """Return what https needs; None: serve http. Raises InputError for files that do not fit."""
        if self.tls_cert is None:
            if self.tls_key is not None:
                remedy = "Give tls_cert=FILE, too"
                raise InputError("a key without its certificate", field="tls_key", remedy=remedy)
            return None
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        try:
            context.load_cert_chain(self.tls_cert, self.tls_key, password="")  # else it asks
        except OSError as error:  # ssl.SSLError is one
            raise InputError(
                f"no certificate with its key can be read: {error.strerror or error}",
                where=str(self.tls_cert),
                field="tls_cert",
                remedy="Give a certificate and its key in PEM, the key without a password",
            ) from error
        return context

    def limits(self) -> Mapping[str, int]:
        """By the names that requests have for them: what a job gets, and the most that it may ask for."""
        return {name: getattr(self, name) for name in piston.LIMITS}


def check_address(host: str, *, token: str | bool, open_to_all: bool | None) -> None:
    """Refuse an address that other machines reach where there is neither a token nor a request for that.

    They could run programs here. `open_to_all`: None where nobody can request it.
    """
    if token or open_to_all or is_loopback(host):
        return
    also = "" if open_to_all is None else "; open_to_all=True if the network is closed"
    raise InputError(
        f"on {host}, everybody who reaches this machine could run programs on it",
        field="host",
        remedy="Give token=... or IOI_EVAL_TOKEN" + also,
    )


# --- by which names a worker without a token may be addressed ----------------------------------------
# Every web page that somebody opens on this machine can send requests to this machine, and a name of the
# page's own can be made to stand for any address (DNS rebinding). What gives it away is the name in the
# request: it is the page's. A request that names an address went to that address, so an address is fine.


def check_hosts(headers: CIMultiDictProxy[str], options: ServerOptions) -> None:
    """Raises Refused for a foreign `Host`, and for a page that is not the worker's own in `Origin`."""
    if options.asks:
        return  # which no foreign page knows
    hosts = {_name(f"//{host}") for host in headers.getall("Host", [])}
    for host in hosts:
        served = host in {options.host.lower(), *options.allow_hosts} or is_loopback(host)
        if not served and (is_loopback(options.host) or not _is_address(host)):
            raise _foreign("the host", host, options)
    for origin in headers.getall("Origin", []):
        page = _name(origin)
        if page not in hosts | set(options.allow_hosts) and not (
            is_loopback(page) and is_loopback(options.host)
        ):
            raise _foreign("pages of", page, options)


def _name(address: str) -> str:
    """Without port, brackets and the root's dot. Empty where there is none, as in the origin `null`."""
    try:
        return (urlsplit(address).hostname or "").removesuffix(".")
    except ValueError:
        return ""


def _is_address(host: str) -> bool:
    try:
        return bool(ipaddress.ip_address(host))
    except ValueError:
        return False


def _foreign(what: str, name: str, options: ServerOptions) -> piston.RefusedRequest:
    remedy = f"start it with {options.allowing} if it is to"
    return piston.RefusedRequest(
        f"this server does not answer to {what} {name[:100]!r}: {remedy}", status=403
    )
