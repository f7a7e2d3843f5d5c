"""Options of a server: its address, host names, tokens and limits."""

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
from ioi_eval.store.resources import read_machine_memory

# The bodies of all requests together may use the machine's memory divided by this number. Decoding a body
# needs three times its size, and its sandbox needs the size once more.
_MEMORY_PARTS = 8


_SIZE = re.compile(r"(\d+)\s*([kmg]?)i?b?", re.IGNORECASE)
_UNITS = {"": 0, "k": 10, "m": 20, "g": 30}


def parse_size_in_bytes(text: str) -> int:
    """Return a size such as 512mb in bytes."""
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise InputError(f"{text!r} is not a valid size", remedy="Write a size as 512mb, 100kb or 1048576")
    return int(match[1]) << _UNITS[match[2].lower()]


_SIZED = CliOption(typed=str, read=parse_size_in_bytes, metavar="SIZE", key_only=True)
_TIMED = CliOption(
    typed=int, read=lambda seconds: 1000 * seconds, minimum=1, metavar="SECONDS", key_only=True
)


class ServerOptions(Value):
    """Options of a server. Times are in ms, sizes in bytes. As for Piston, -1 means no limit."""

    port: Annotated[
        Annotated[int, msgspec.Meta(ge=0, le=65535)],
        CliOption(metavar="N", help="Port to listen on. 0 means any free port.", panel="Access"),
    ] = 2000
    host: Annotated[
        str,
        CliOption(
            metavar="ADDRESS",
            help="Address to listen on. 0.0.0.0 means all addresses of the machine.",
            panel="Access",
        ),
    ] = "127.0.0.1"
    allow_hosts: Annotated[
        tuple[str, ...],  # host names that requests without a token may use
        CliOption(
            name="allow_host",
            metavar="NAME",
            help="Additional host name by which requests may address this machine. May be repeated.",
            panel="Access",
            key_only=True,
            read=lambda names: [name.lower() for name in names],
        ),
    ] = ()
    tls_cert: Annotated[
        Path | None,
        CliOption(
            metavar="FILE",
            help="PEM file with the TLS certificate and its chain. The server then accepts only https.",
            panel="Access",
        ),
    ] = None
    tls_key: Annotated[
        Path | None,
        CliOption(
            metavar="FILE",
            help="PEM file with the private key, if the certificate's file does not contain the key.",
            panel="Access",
        ),
    ] = None
    queue: Annotated[
        Annotated[int, msgspec.Meta(ge=0)],
        CliOption(
            metavar="N",
            help="Maximum number of waiting requests; further requests get 503.",
            key_only=True,
        ),
    ] = 64
    max_body: Annotated[
        int, _SIZED, CliOption(default="512mb", help="Maximum size of a request, decompressed.")
    ] = 512 << 20
    max_bodies: Annotated[
        int | None,
        _SIZED,
        CliOption(
            help="Maximum size of all running and waiting requests together; further requests get 503.",
            unset="an eighth of the memory",
        ),
    ] = None
    max_contents: Annotated[
        int | None,
        _SIZED,
        CliOption(
            help="Maximum disk space for the cache of clients' files. 0 means no cache.",
            unset="8gb, at most a quarter of the free space",
        ),
    ] = None
    contents_folder: Annotated[
        str,
        CliOption(
            metavar="DIR", help="Folder of the cache of clients' files.", unset="$TMPDIR", key_only=True
        ),
    ] = ""
    max_output: Annotated[
        int,
        _SIZED,
        CliOption(default="64mb", help="Maximum size of a job's standard output, and of its standard error."),
    ] = 64 << 20
    run_timeout: Annotated[int, _TIMED, CliOption(default=900, help="Maximum run time of a job.")] = 900_000
    compile_timeout: Annotated[int, _TIMED, CliOption(default=120, help="Maximum compile time of a job.")] = (
        120_000
    )
    run_cpu_time: int = 900_000
    compile_cpu_time: int = 120_000
    run_memory_limit: int = -1
    compile_memory_limit: int = -1
    # Token that requests must contain; empty means no token, or the tokens in `token_file`.
    token: Secret = Secret()
    # Path of a file with a single token, or with several tokens and their names.
    token_file: Path | None = None
    log_jobs: bool = False  # True if every job is logged
    allowing: str = "allow_hosts=NAME"  # how to allow a further host name, for messages

    @property
    def max_queued_bytes(self) -> int:
        """Maximum size of all bodies together, always enough for a single body."""
        max_bytes = read_machine_memory() // _MEMORY_PARTS if self.max_bodies is None else self.max_bodies
        return max(self.max_body, max_bytes)

    @property
    def requires_token(self) -> bool:
        """True if requests must send a token."""
        return bool(self.token or self.token_file)

    def make_tls_context(self) -> ssl.SSLContext | None:
        """Return the TLS context for https, or `None` for http. Raises InputError for invalid files."""
        if self.tls_cert is None:
            if self.tls_key is not None:
                remedy = "Also give tls_cert=FILE"
                raise InputError("the private key needs a certificate", field="tls_key", remedy=remedy)
            return None
        tls_context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        try:
            tls_context.load_cert_chain(self.tls_cert, self.tls_key, password="")  # no prompt
        except OSError as error:  # an ssl.SSLError is an OSError
            raise InputError(
                f"the certificate and its key cannot be read: {error.strerror or error}",
                where=str(self.tls_cert),
                field="tls_cert",
                remedy="Give a certificate and its key in PEM, the key without a password",
            ) from error
        return tls_context

    def get_limits(self) -> Mapping[str, int]:
        """Return the limits by their names in requests. They are defaults and maximum values."""
        return {name: getattr(self, name) for name in piston.LIMITS}


def check_address(host: str, *, token: str | bool, open_to_all: bool | None) -> None:
    """Raise InputError if other machines could run programs here without a token.

    Args:
        host: the address to listen on.
        token: the token, or whether there is a token.
        open_to_all: True if the user allows requests without a token. `None` if the user cannot allow it.
    """
    if token or open_to_all or is_loopback(host):
        return
    option_hint = "" if open_to_all is None else "; open_to_all=True if the network is closed"
    raise InputError(
        f"on {host}, everybody who reaches this machine could run programs on it",
        field="host",
        remedy="Give token=... or IOI_EVAL_TOKEN" + option_hint,
    )


# --- host names in requests to a worker without a token ----------------------------------------------
# Every web page that is opened on this machine can send requests to this machine, and the owner of the page's
# host name can let it resolve to any address (DNS rebinding). Such a request is detected by the host name in
# it, which is the page's. A request that contains an address was sent to that address and is accepted.


def check_hosts(headers: CIMultiDictProxy[str], options: ServerOptions) -> None:
    """Raise RefusedRequest for an unknown host name in `Host`, or for another site's page in `Origin`."""
    if options.requires_token:
        return  # without the token, another site's page cannot call the worker
    hosts = {_parse_host_name(f"//{host}") for host in headers.getall("Host", [])}
    for host in hosts:
        is_own_host = host in {options.host.lower(), *options.allow_hosts} or is_loopback(host)
        if not is_own_host and (is_loopback(options.host) or not _is_address(host)):
            raise _make_host_refusal("the host", host, options)
    for origin in headers.getall("Origin", []):
        page_host = _parse_host_name(origin)
        if page_host not in hosts | set(options.allow_hosts) and not (
            is_loopback(page_host) and is_loopback(options.host)
        ):
            raise _make_host_refusal("pages of", page_host, options)


def _parse_host_name(address: str) -> str:
    """Return the host name of an address, without a final dot. It is empty for the origin `null`."""
    try:
        return (urlsplit(address).hostname or "").removesuffix(".")
    except ValueError:
        return ""


def _is_address(host: str) -> bool:
    try:
        return bool(ipaddress.ip_address(host))
    except ValueError:
        return False


def _make_host_refusal(subject: str, name: str, options: ServerOptions) -> piston.RefusedRequest:
    remedy = f"start it with {options.allowing} to allow that"
    return piston.RefusedRequest(
        f"this server does not answer to {subject} {name[:100]!r}: {remedy}", status=403
    )
